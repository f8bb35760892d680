// SPDX-License-Identifier: MIT
/*
 * The library when memory runs out: each of its allocations fails once, alone and with all that
 * follow.  Whatever it was for, the call says so, nothing leaks, and a session that has survived
 * gives the same logits as ever.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "npu/llm.h"
#include "npu/session.h"
#include "tiny_model.h"
#include "tokenizer_build.h"

/* ---- allocations that fail --------------------------------------------------------------- */

static atomic_long n_calls, fail_at, n_live; /* fail_at 0: none */
static atomic_bool fail_on;		     /* all behind it, too */

static bool fails(void)
{
	long n = ++n_calls, at = fail_at;

	return at && (n == at || (n > at && fail_on));
}

static void *count(void *p)
{
	n_live += !!p;
	return p;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
pcre2_code *__real_pcre2_compile_8(PCRE2_SPTR pattern, PCRE2_SIZE n, uint32_t options, int *err,
				   PCRE2_SIZE *at, pcre2_compile_context *ctx);
pcre2_match_data *__real_pcre2_match_data_create_8(uint32_t n, pcre2_general_context *ctx);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
pcre2_code *__wrap_pcre2_compile_8(PCRE2_SPTR pattern, PCRE2_SIZE n, uint32_t options, int *err,
				   PCRE2_SIZE *at, pcre2_compile_context *ctx);
pcre2_match_data *__wrap_pcre2_match_data_create_8(uint32_t n, pcre2_general_context *ctx);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : count(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	if (fails())
		return NULL;
	return p ? __real_realloc(p, n) : count(__real_realloc(NULL, n));
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	assert_false(__builtin_mul_overflow(n, size, &n));
	return __wrap_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : count(__real_aligned_alloc(align, n));
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : count(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : count(__real_strndup(s, n));
}

void __wrap_free(void *p)
{
	n_live -= !!p;
	__real_free(p);
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return fails() ? EAGAIN : __real_pthread_create(t, attr, fn, arg);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	if (!fails())
		return __real_mmap(at, n, prot, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

pcre2_code *__wrap_pcre2_compile_8(PCRE2_SPTR pattern, PCRE2_SIZE n, uint32_t options, int *err,
				   PCRE2_SIZE *at, pcre2_compile_context *ctx)
{
	if (!fails())
		return __real_pcre2_compile_8(pattern, n, options, err, at, ctx);
	*err = PCRE2_ERROR_HEAP_FAILED;
	*at = 0;
	return NULL;
}

pcre2_match_data *__wrap_pcre2_match_data_create_8(uint32_t n, pcre2_general_context *ctx)
{
	return fails() ? NULL : __real_pcre2_match_data_create_8(n, ctx);
}

/* ---- every allocation in turn ------------------------------------------------------------ */

/* Does something whole, from opening to closing; returns the first error, its words in why[]. */
typedef npu_status (*work_fn)(void *arg);

static char why[256];

static npu_status noted(npu_status status)
{
	snprintf(why, sizeof(why), "%s", status ? npu_error_message() : "");
	return status;
}

static void fail_each(work_fn work, void *arg, long least)
{
	long n = 0, failed = 0;

	for (int all = 0; all < 2; all++) {
		fail_on = all;
		for (n = 1;; n++) {
			npu_status status;

			n_live = 0;
			n_calls = 0;
			fail_at = n;
			status = work(arg);
			fail_at = 0;
			if (n_live)
				fail_msg("allocation %ld: %ld leak", n, (long)n_live);
			if (n_calls < n && !status)
				break;
			if (!status)
				continue; /* it could do without */
			failed++;
			if (status != NPU_ERR_NOMEM ||
			    (!strstr(why, "memory") && !strstr(why, "thread")))
				fail_msg("allocation %ld: status %d, '%s'", n, status, why);
		}
	}
	print_message("# %ld allocations, %ld errors\n", n - 1, failed);
	assert_true(failed >= least);
}

/* ---- models ------------------------------------------------------------------------------ */

struct model {
	char path[64];
	uint8_t *bytes;
	size_t n;
	const char *device;
	float *want, *got;
	uint32_t n_vocab;
};

#define N_TOKENS 70u /* two chunks */

static npu_status eval(npu_session *s, float *logits)
{
	uint32_t tokens[N_TOKENS];
	npu_status status;

	for (uint32_t i = 0; i < N_TOKENS; i++)
		tokens[i] = i * 7 % 90;
	status = npu_session_eval(s, tokens, N_TOKENS - 2, NULL, 0);
	if (!status)
		status = npu_session_eval(s, tokens + N_TOKENS - 2, 2, logits, 2);
	return status;
}

/* Once memory is there again. */
static void eval_again(const struct model *m, npu_session *s)
{
	long at = fail_at;

	fail_at = 0;
	assert_int_equal(npu_session_reset(s), NPU_OK);
	assert_int_equal(eval(s, m->got), NPU_OK);
	fail_at = at;
}

static npu_status run_session(void *arg)
{
	const struct model *m = arg;
	struct npu_session_options opt = { .struct_size = sizeof(opt), .device = m->device,
					   .n_ctx = 128, .prefill_chunk = 32, .n_threads = 3 };
	npu_session *s = NULL;
	npu_gguf *g = NULL;
	npu_status status;

	status = noted(npu_gguf_open(m->path, &g));
	if (!status)
		status = noted(npu_session_open(g, &opt, &s));
	assert_true(!status == !!s);
	if (s) {
		status = noted(eval(s, m->got));
		if (status)
			eval_again(m, s);
		assert_memory_equal(m->got, m->want, 2 * m->n_vocab * sizeof(float));
	}
	npu_session_close(s);
	npu_gguf_close(g);
	return status;
}

static void check_session(struct model *m, const char *device)
{
	struct npu_session_options opt = { .struct_size = sizeof(opt), .device = "cpu",
					   .n_ctx = 128 };
	npu_session *s;
	npu_gguf *g;

	assert_int_equal(npu_gguf_open(m->path, &g), NPU_OK);
	assert_int_equal(npu_session_open(g, &opt, &s), NPU_OK);
	m->n_vocab = npu_session_n_vocab(s);
	m->want = calloc(2 * m->n_vocab, sizeof(float));
	m->got = calloc(2 * m->n_vocab, sizeof(float));
	assert_true(m->want && m->got);
	assert_int_equal(eval(s, m->want), NPU_OK);
	npu_session_close(s);
	npu_gguf_close(g);
	m->device = device;
	fail_each(run_session, m, 50);
	free(m->want);
	free(m->got);
}

static void write_model(struct model *m)
{
	struct tiny_spec spec = tiny_default;
	uint8_t *copy;
	npu_gguf *g;
	FILE *f;
	int fd;

	snprintf(m->path, sizeof(m->path), "/tmp/npu-nomem.XXXXXX");
	fd = mkstemp(m->path);
	assert_true(fd >= 0);
	assert_int_equal(tiny_open(&spec, &g, &copy), NPU_OK);
	f = fdopen(fd, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(copy, npu_gguf_size(g), 1, f), 1);
	assert_int_equal(fclose(f), 0);
	npu_gguf_close(g);
	free(copy);
}

static void test_session_cpu(void **state)
{
	check_session(*state, "cpu");
}

static void test_session_npu(void **state)
{
	check_session(*state, "sim:tiny");
}

/* ---- text -------------------------------------------------------------------------------- */

#define CHATML "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + " \
	       "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}" \
	       "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

static npu_status speak(const npu_tokenizer *t, const uint32_t *ids, size_t n)
{
	struct npu_sampler_options opt;
	npu_sampler *s = NULL;
	npu_detok *d = NULL;
	const char *text;
	npu_status status;
	size_t len;

	npu_sampler_defaults(&opt);
	status = npu_sampler_new(&opt, npu_tokenizer_n_vocab(t), &s);
	if (!status)
		status = npu_detok_new(t, true, &d);
	for (size_t i = 0; !status && i < n; i++)
		status = npu_detok_push(d, ids[i], &text, &len);
	npu_detok_del(d);
	npu_sampler_del(s);
	return status;
}

static npu_status run_text(void *arg)
{
	static const char text[] = "a text of some words, 123 of them; and bytes \xff\xfe";
	const struct npu_chat_message msg = { "user", text, sizeof(text) };
	const struct gguf_build *b = arg;
	npu_tokenizer *t = NULL;
	npu_chat *c = NULL;
	npu_gguf *g = NULL;
	uint32_t *ids = NULL;
	npu_status status;
	size_t n = 0;

	status = npu_gguf_open_mem(b->bytes, b->n, &g);
	if (!status)
		status = npu_tokenizer_new(g, &t);
	if (!status)
		status = npu_chat_new(g, &c);
	if (!status)
		status = npu_chat_encode(c, t, &msg, 1, &ids, &n);
	if (!status)
		status = speak(t, ids, n);
	noted(status);
	free(ids);
	npu_chat_del(c);
	npu_tokenizer_del(t);
	npu_gguf_close(g);
	return status;
}

static void test_text(void **state)
{
	static const char *const special[] = { "<|im_start|>", "<|im_end|>" };
	static const int32_t types[] = { 3, 3 };
	const struct vocab_build v = { VOCAB_BUILD_DEFAULTS, .special = special, .n_special = 2,
				       .special_types = types, .chat_template = CHATML };
	static struct gguf_build build;

	(void)state;
	vocab_build(&build, &v);
	fail_each(run_text, &build, 30);
}

static int setup(void **state)
{
	static struct model m;

	write_model(&m);
	*state = &m;
	return 0;
}

static int teardown(void **state)
{
	const struct model *m = *state;

	return remove(m->path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_session_cpu),
		cmocka_unit_test(test_session_npu),
	};

	return cmocka_run_group_tests_name("nomem", tests, setup, teardown);
}
