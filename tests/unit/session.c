// SPDX-License-Identifier: MIT
/*
 * Sessions on small random models: logits against an evaluation of the whole model in double
 * precision, the same bits however tokens are split, over threads and on the in-process NPU, and
 * errors that leave the session as it was.
 */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "error.h"
#include "npu/device.h"
#include "npu/graph.h"
#include "npu/session.h"
#include "tiny_model.h"

#define N_TOKENS 150u /* more than a KV tile */

static void ok_(npu_status status, const char *what)
{
	if (status)
		fail_msg("%s: %s", what, npu_error_message());
}
#define ok(call) ok_(call, #call)

static void *zalloc(size_t n)
{
	void *p = calloc(1, n);

	assert_non_null(p);
	return p;
}

struct model {
	npu_gguf *gguf;
	uint8_t *copy;
	struct npu_llama_hparams hp;
	uint32_t tokens[N_TOKENS];
};

static void model_open(struct model *m, const struct tiny_spec *spec)
{
	uint32_t seed = 99;

	ok(tiny_open(spec, &m->gguf, &m->copy));
	ok(npu_llama_hparams(m->gguf, &m->hp));
	for (uint32_t i = 0; i < N_TOKENS; i++)
		m->tokens[i] = tiny_random(&seed) % m->hp.n_vocab;
}

static void model_close(struct model *m)
{
	npu_gguf_close(m->gguf);
	free(m->copy);
}

static npu_session *open_on(const struct model *m, const char *device, uint32_t chunk,
			    int n_threads)
{
	struct npu_session_options opt = { .struct_size = sizeof(opt),
					   .device = device,
					   .prefill_chunk = chunk,
					   .n_threads = n_threads };
	npu_session *s;

	ok(npu_session_open(m->gguf, &opt, &s));
	return s;
}

/* ---- the model in double ----------------------------------------------------------------- */

static double *weight(const struct model *m, const char *name, uint64_t *cols, uint64_t *rows)
{
	const struct npu_gguf_tensor *t;
	double *w;
	float *f;

	ok(npu_gguf_tensor(m->gguf, name, &t));
	*cols = t->ne[0];
	*rows = t->ne[1];
	f = zalloc(t->ne[0] * t->ne[1] * sizeof(*f));
	w = zalloc(t->ne[0] * t->ne[1] * sizeof(*w));
	ok(npu_dequant_row(t->type, t->data, f, t->ne[0] * t->ne[1]));
	for (uint64_t i = 0; i < t->ne[0] * t->ne[1]; i++)
		w[i] = f[i];
	free(f);
	return w;
}

/* y = W x for @n rows of x; the result is the caller's. */
static double *times(const struct model *m, const char *name, const double *x, uint32_t n)
{
	uint64_t cols, rows;
	double *w = weight(m, name, &cols, &rows), *y = zalloc(n * rows * sizeof(*y));

	for (uint32_t i = 0; i < n; i++)
		for (uint64_t r = 0; r < rows; r++)
			for (uint64_t c = 0; c < cols; c++)
				y[i * rows + r] += w[r * cols + c] * x[i * cols + c];
	free(w);
	return y;
}

static double *normed(const struct model *m, const char *name, const double *x, uint32_t n)
{
	uint64_t cols, rows;
	double *w = weight(m, name, &cols, &rows), *y = zalloc(n * cols * sizeof(*y));

	for (uint32_t i = 0; i < n; i++) {
		double sum = 0;

		for (uint64_t c = 0; c < cols; c++)
			sum += x[i * cols + c] * x[i * cols + c];
		for (uint64_t c = 0; c < cols; c++)
			y[i * cols + c] = x[i * cols + c] / sqrt(sum / cols + m->hp.rms_eps) * w[c];
	}
	free(w);
	return y;
}

static void rotate(const struct model *m, double *x, uint32_t n, uint32_t heads)
{
	uint32_t hd = m->hp.head_dim;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t p = 0; p < heads * hd / 2; p++) {
			double angle = i * pow(m->hp.rope_base, -2.0 * (p % (hd / 2)) / hd);
			double *at = x + (size_t)i * heads * hd + 2 * p, x0 = at[0], x1 = at[1];

			at[0] = x0 * cos(angle) - x1 * sin(angle);
			at[1] = x0 * sin(angle) + x1 * cos(angle);
		}
}

/* Attention of one head of one token over @k, @v. */
static void attend(const struct model *m, const double *q, const double *k, const double *v,
		   uint32_t n, uint32_t head, double *out)
{
	uint32_t hd = m->hp.head_dim, kv_cols = m->hp.n_kv_heads * hd;
	uint32_t off = head / (m->hp.n_heads / m->hp.n_kv_heads) * hd;
	double sum = 0;

	for (uint32_t j = 0; j < n; j++) {
		double s = 0;

		for (uint32_t d = 0; d < hd; d++)
			s += q[d] * k[j * kv_cols + off + d];
		s = exp(s / sqrt(hd));
		sum += s;
		for (uint32_t d = 0; d < hd; d++)
			out[d] += s * v[j * kv_cols + off + d];
	}
	for (uint32_t d = 0; d < hd; d++)
		out[d] /= sum;
}

static const char *name_of(uint32_t layer, const char *what)
{
	static char name[64];

	snprintf(name, sizeof(name), "blk.%u.%s.weight", layer, what);
	return name;
}

static void add_to(double *h, double *delta, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h[i] += delta[i];
	free(delta);
}

static void layer_ref(const struct model *m, uint32_t l, double *h)
{
	uint32_t n = N_TOKENS, hd = m->hp.head_dim, q_cols = m->hp.n_heads * hd;
	double *a = normed(m, name_of(l, "attn_norm"), h, n);
	double *q = times(m, name_of(l, "attn_q"), a, n), *k = times(m, name_of(l, "attn_k"), a, n);
	double *v = times(m, name_of(l, "attn_v"), a, n), *o = zalloc(n * q_cols * sizeof(*o));
	double *b, *gate, *up;

	rotate(m, q, n, m->hp.n_heads);
	rotate(m, k, n, m->hp.n_kv_heads);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t head = 0; head < m->hp.n_heads; head++)
			attend(m, q + i * q_cols + head * hd, k, v, i + 1, head,
			       o + i * q_cols + head * hd);
	add_to(h, times(m, name_of(l, "attn_output"), o, n), n * m->hp.hidden);
	b = normed(m, name_of(l, "ffn_norm"), h, n);
	gate = times(m, name_of(l, "ffn_gate"), b, n);
	up = times(m, name_of(l, "ffn_up"), b, n);
	for (size_t i = 0; i < (size_t)n * m->hp.ffn; i++)
		gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
	add_to(h, times(m, name_of(l, "ffn_down"), gate, n), n * m->hp.hidden);
	free(up);
	free(gate);
	free(b);
	free(o);
	free(v);
	free(k);
	free(q);
	free(a);
}

/* [N_TOKENS][n_vocab] */
static double *logits_ref(const struct model *m)
{
	uint64_t cols, rows;
	double *table = weight(m, "token_embd.weight", &cols, &rows);
	double *h = zalloc(N_TOKENS * cols * sizeof(*h)), *x, *logits;

	for (uint32_t i = 0; i < N_TOKENS; i++)
		memcpy(h + i * cols, table + m->tokens[i] * cols, cols * sizeof(*h));
	for (uint32_t l = 0; l < m->hp.n_layers; l++)
		layer_ref(m, l, h);
	x = normed(m, "output_norm.weight", h, N_TOKENS);
	logits = times(m, m->hp.tied ? "token_embd.weight" : "output.weight", x, N_TOKENS);
	free(x);
	free(h);
	free(table);
	return logits;
}

static float *all_logits(const struct model *m, npu_session *s)
{
	float *logits = zalloc((size_t)N_TOKENS * m->hp.n_vocab * sizeof(*logits));

	ok(npu_session_reset(s));
	ok(npu_session_eval(s, m->tokens, N_TOKENS, logits, N_TOKENS));
	assert_int_equal(npu_session_pos(s), N_TOKENS);
	return logits;
}

static void check_reference(const struct tiny_spec *spec)
{
	struct model m;
	npu_session *s;
	double *ref, worst = 0;
	float *logits;

	model_open(&m, spec);
	s = open_on(&m, "cpu", 32, 1);
	logits = all_logits(&m, s);
	ref = logits_ref(&m);
	for (size_t i = 0; i < (size_t)N_TOKENS * m.hp.n_vocab; i++)
		worst = fmax(worst, fabs(logits[i] - ref[i]));
	/* Logits are of size 1; half precision within. */
	print_message("# worst error %.5f\n", worst);
	assert_true(worst < 0.01);
	free(ref);
	free(logits);
	npu_session_close(s);
	model_close(&m);
}

static void test_reference(void **state)
{
	struct tiny_spec s = tiny_default;

	(void)state;
	check_reference(&s);
	s.untied = 1;
	s.embd = NPU_TYPE_F16;
	check_reference(&s);
	s.n_kv_heads = 4; /* no grouping, Q4_1 throughout, heads wider than hidden */
	s.head_dim = 24;
	s.matrix = NPU_TYPE_Q4_1;
	check_reference(&s);
}

/* ---- the same bits ----------------------------------------------------------------------- */

/* Logits of every token when the sequence is fed in pieces of the given lengths, over and over. */
static void check_pieces(const struct model *m, npu_session *s, const float *want,
			 const uint32_t *piece, uint32_t n_pieces, const char *what)
{
	size_t row = m->hp.n_vocab * sizeof(float);
	float *logits = zalloc(N_TOKENS * row);
	uint32_t at = 0;

	ok(npu_session_reset(s));
	for (uint32_t i = 0; at < N_TOKENS; i++) {
		uint32_t n = piece[i % n_pieces], n_logits;

		n = n < N_TOKENS - at ? n : N_TOKENS - at;
		n_logits = 1 + i % n;
		ok(npu_session_eval(s, m->tokens + at, n, logits, n_logits));
		at += n;
		assert_int_equal(npu_session_pos(s), at);
		if (memcmp(logits, want + (size_t)(at - n_logits) * m->hp.n_vocab, n_logits * row))
			fail_msg("%s: logits of tokens %u..%u differ", what, at - n_logits, at - 1);
	}
	free(logits);
}

static const uint32_t ones[] = { 1 }, odd[] = { 3, 1, 17, 2 }, large[] = { 64, 70, 16 };

static void check_all_pieces(const struct model *m, npu_session *s, const float *want,
			     const char *what)
{
	check_pieces(m, s, want, ones, 1, what);
	check_pieces(m, s, want, odd, 4, what);
	check_pieces(m, s, want, large, 3, what);
}

static void test_pieces(void **state)
{
	static const struct {
		uint32_t chunk;
		int threads;
	} how[] = { { 1, 1 }, { 7, 2 }, { 0, 3 }, { 300, 1 } };
	struct model m;
	npu_session *s;
	float *want;

	(void)state;
	model_open(&m, &tiny_default);
	s = open_on(&m, "cpu", 16, 0);
	want = all_logits(&m, s);
	check_all_pieces(&m, s, want, "chunk 16");
	npu_session_close(s);
	for (size_t i = 0; i < sizeof(how) / sizeof(how[0]); i++) {
		s = open_on(&m, "cpu", how[i].chunk, how[i].threads);
		check_all_pieces(&m, s, want, "other chunk and threads");
		npu_session_close(s);
	}
	free(want);
	model_close(&m);
}

static void check_same_on(const struct tiny_spec *spec, const char *device)
{
	struct model m;
	npu_session *s;
	float *want;

	model_open(&m, spec);
	s = open_on(&m, "cpu", 0, 0);
	want = all_logits(&m, s);
	npu_session_close(s);
	s = open_on(&m, device, 0, 0);
	check_all_pieces(&m, s, want, device);
	assert_int_not_equal(npu_session_segments_per_decode(s), 0);
	npu_session_close(s);
	free(want);
	model_close(&m);
}

static void test_npu_same_bits(void **state)
{
	struct tiny_spec s = tiny_default;

	(void)state;
	check_same_on(&s, "sim");
	s.untied = 1;
	s.matrix = NPU_TYPE_Q4_1;
	check_same_on(&s, "sim");
}

static void test_npu_placement(void **state)
{
	struct npu_session_options opt = { .struct_size = sizeof(opt),
					   .device = "sim",
					   .strict = 1 };
	struct npu_session_stats st = { .struct_size = sizeof(st) };
	const struct npu_placement *p;
	uint32_t n_npu = 0, n_cpu = 0;
	float logits[90];
	struct model m;
	npu_session *s;
	size_t n;

	(void)state;
	model_open(&m, &tiny_default);
	/* The embedding's rows are looked up on the CPU by design, which strict mode accepts. */
	ok(npu_session_open(m.gguf, &opt, &s));
	p = npu_session_placement(s, &n);
	for (size_t i = 0; i < n; i++) {
		n_npu += p[i].n_npu;
		n_cpu += p[i].n_cpu;
		assert_true(!p[i].n_cpu == !p[i].reason);
		assert_true(!p[i].n_cpu || !strcmp(p[i].op, "get_rows"));
	}
	assert_int_equal(n_cpu, 1);
	assert_true(n_npu > 30);
	assert_int_equal(npu_session_segments_per_decode(s), 1);
	ok(npu_session_eval(s, m.tokens, 1, logits, 1));
	ok(npu_session_eval(s, m.tokens, 1, logits, 1));
	ok(npu_session_get_stats(s, &st));
	assert_int_equal(st.jobs, 2);
	assert_true(st.device_ns > 0 && st.macs > 0 && st.dram_read_bytes > 0);
	assert_true(!isnan(st.temperature_c) && st.stream_bytes > 0);
	npu_session_close(s);
	model_close(&m);
}

/* Write the profile of a chip like "edge" that cannot multiply 4-bit weights; returns "sim:PATH". */
static const char *chip_without_u4m(void)
{
	static char device[64] = "sim:";
	char line[256], *path = device + strlen("sim:");
	FILE *in = fopen("tools/npusim/chips/edge.chip", "r"), *out;
	int fd;

	strcpy(path, "/tmp/session-chip-XXXXXX");
	fd = mkstemp(path);
	assert_true(in && fd >= 0);
	out = fdopen(fd, "w");
	assert_non_null(out);
	while (fgets(line, sizeof(line), in))
		fputs(strncmp(line, "formats", 7) ? line : "formats = f32 f16 i8\n", out);
	fclose(in);
	fclose(out);
	return device;
}

/* Matrices that the NPU cannot use run on the CPU, in between, to the same bits. */
static void test_npu_fallback(void **state)
{
	const char *device = chip_without_u4m();
	struct npu_session_options opt = {
		.struct_size = sizeof(opt), .device = device, .strict = 1
	};
	const struct npu_placement *p;
	struct model m;
	npu_session *s;
	size_t n;

	(void)state;
	check_same_on(&tiny_default, device);
	model_open(&m, &tiny_default);
	assert_int_equal(npu_session_open(m.gguf, &opt, &s), NPU_ERR_STRICT);
	assert_null(s);
	assert_non_null(strstr(npu_error_message(), "matmul 'l0.q'"));
	assert_non_null(strstr(npu_error_message(), "format"));
	opt.strict = 0;
	setenv("NPU_STRICT", "1", 1);
	assert_int_equal(npu_session_open(m.gguf, &opt, &s), NPU_ERR_STRICT);
	unsetenv("NPU_STRICT");
	ok(npu_session_open(m.gguf, &opt, &s));
	p = npu_session_placement(s, &n);
	for (size_t i = 0; i < n; i++)
		assert_true(strcmp(p[i].op, "matmul") || (p[i].n_npu && p[i].n_cpu && p[i].reason));
	assert_true(npu_session_segments_per_decode(s) > 1);
	npu_session_close(s);
	model_close(&m);
	unlink(device + strlen("sim:"));
}

/* ---- failures of the device -------------------------------------------------------------- */

/* The linker leads libnpu's calls here (--wrap), so that any job can be made to fail. */
static int jobs_until_fault, jobs_until_timeout; /* 0: never */

npu_status __real_npu_queue_submit(npu_queue *queue, const struct npu_job *job, npu_fence **fence);
npu_status __wrap_npu_queue_submit(npu_queue *queue, const struct npu_job *job, npu_fence **fence);
npu_status __real_npu_fence_wait(npu_fence *fence, uint64_t timeout_ns);
npu_status __wrap_npu_fence_wait(npu_fence *fence, uint64_t timeout_ns);

npu_status __wrap_npu_queue_submit(npu_queue *queue, const struct npu_job *job, npu_fence **fence)
{
	struct npu_job bad = *job;

	if (jobs_until_fault && --jobs_until_fault == 0)
		bad.stream_va += 1ull << 36; /* nothing is mapped there */
	return __real_npu_queue_submit(queue, &bad, fence);
}

npu_status __wrap_npu_fence_wait(npu_fence *fence, uint64_t timeout_ns)
{
	/* Whether the job has ended by now or is still running: both happen. */
	if (jobs_until_timeout && --jobs_until_timeout == 0)
		return npu_fail(NPU_ERR_TIMEOUT, "not finished, says the test");
	return __real_npu_fence_wait(fence, timeout_ns);
}

/* Tokens 0..@n-1 in chunks of 8, one of whose jobs fails as @status. */
static void fail_once(npu_session *s, const struct model *m, uint32_t n, npu_status status)
{
	float logits[90];

	assert_int_equal(npu_session_eval(s, m->tokens, n, logits, 1), status);
	jobs_until_fault = jobs_until_timeout = 0;
	if (status == NPU_ERR_FAULT) {
		assert_non_null(strstr(npu_error_message(), "MMU fault"));
		assert_non_null(strstr(npu_error_message(), "front end"));
	} else {
		assert_non_null(strstr(npu_error_message(), "not finished"));
	}
	/* Two chunks were done before it. */
	assert_int_equal(npu_session_pos(s), 16);
}

/* A job that fails in the middle of a prompt: the session says why, and goes on from where it was,
 * or from the start.
 */
static void test_device_failure(void **state)
{
	float *want = zalloc(90 * sizeof(*want)), *got = zalloc(90 * sizeof(*got));
	struct model m;
	npu_session *s;

	(void)state;
	model_open(&m, &tiny_default);
	s = open_on(&m, "sim", 8, 1);
	ok(npu_session_eval(s, m.tokens, 30, want, 1));
	for (int i = 0; i < 4; i++) {
		ok(npu_session_reset(s));
		if (i % 2)
			jobs_until_timeout = 3;
		else
			jobs_until_fault = 3;
		fail_once(s, &m, 30, i % 2 ? NPU_ERR_TIMEOUT : NPU_ERR_FAULT);
		if (i < 2) {
			ok(npu_session_eval(s, m.tokens + 16, 14, got, 1));
		} else {
			ok(npu_session_reset(s));
			ok(npu_session_eval(s, m.tokens, 30, got, 1));
		}
		assert_memory_equal(got, want, 90 * sizeof(*want));
	}
	/* And closes right after a failure. */
	ok(npu_session_reset(s));
	jobs_until_fault = 3;
	fail_once(s, &m, 30, NPU_ERR_FAULT);
	npu_session_close(s);
	model_close(&m);
	free(want);
	free(got);
}

/* ---- several sessions -------------------------------------------------------------------- */

struct reader {
	const struct model *m;
	const char *device;
	float logits[90];
	npu_status status;
	pthread_t thread;
};

static void *read_tokens(void *arg)
{
	struct reader *r = arg;
	struct npu_session_options opt = { .struct_size = sizeof(opt),
					   .device = r->device,
					   .prefill_chunk = 16,
					   .n_threads = 2 };
	npu_session *s;

	r->status = npu_session_open(r->m->gguf, &opt, &s);
	for (uint32_t i = 0; !r->status && i < 100; i += 20)
		r->status = npu_session_eval(s, r->m->tokens + i, 20, r->logits, 1);
	npu_session_close(s);
	return NULL;
}

/* Sessions of one model in threads of their own: no one sees the others. */
static void test_threads(void **state)
{
	static const char *const devices[] = { "cpu", "sim", "cpu", "sim" };
	struct reader r[4];
	struct model m;

	(void)state;
	model_open(&m, &tiny_default);
	for (int i = 0; i < 4; i++) {
		r[i] = (struct reader) { .m = &m, .device = devices[i] };
		assert_int_equal(pthread_create(&r[i].thread, NULL, read_tokens, &r[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(r[i].thread, NULL), 0);
		assert_int_equal(r[i].status, NPU_OK);
		assert_memory_equal(r[i].logits, r[0].logits, sizeof(r[0].logits));
	}
	model_close(&m);
}

static size_t open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Opened and closed again and again; leaks are for the sanitizer and for valgrind to see. */
static void test_reopen(void **state)
{
	size_t files = open_files();
	float logits[90];
	struct model m;

	(void)state;
	model_open(&m, &tiny_default);
	for (int i = 0; i < 50; i++) {
		npu_session *s = open_on(&m, i % 2 ? "sim" : "cpu", 8, 2);

		ok(npu_session_eval(s, m.tokens, i % 20 + 1, logits, i % 3 ? 1 : 0));
		npu_session_close(s);
	}
	model_close(&m);
	assert_int_equal(open_files(), files);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void check_refusals(const struct model *m, const char *device)
{
	struct npu_session_options opt = { .struct_size = sizeof(opt),
					   .device = device,
					   .n_ctx = 20 };
	size_t row = m->hp.n_vocab * sizeof(float);
	float *before = zalloc(row), *after = zalloc(2 * row);
	uint32_t bad[3] = { 1, 2, m->hp.n_vocab };
	npu_session *s;

	ok(npu_session_open(m->gguf, &opt, &s));
	ok(npu_session_eval(s, m->tokens, 18, before, 1));
	assert_int_equal(npu_session_eval(s, m->tokens, 3, after, 1), NPU_ERR_LIMIT);
	assert_non_null(strstr(npu_error_message(), "20"));
	assert_int_equal(npu_session_eval(s, bad + 1, 2, after, 1), NPU_ERR_INVALID);
	assert_non_null(strstr(npu_error_message(), "90"));
	assert_int_equal(npu_session_eval(s, m->tokens, 0, after, 0), NPU_ERR_INVALID);
	assert_int_equal(npu_session_eval(s, m->tokens, 1, after, 2), NPU_ERR_INVALID);
	assert_int_equal(npu_session_eval(s, m->tokens, 1, NULL, 1), NPU_ERR_INVALID);
	assert_int_equal(npu_session_eval(s, NULL, 1, after, 1), NPU_ERR_INVALID);
	assert_int_equal(npu_session_eval(s, m->tokens, UINT32_MAX, after, 1), NPU_ERR_LIMIT);
	assert_int_equal(npu_session_pos(s), 18);
	/* The context fills to its end, and not beyond. */
	ok(npu_session_eval(s, m->tokens + 18, 2, after, 2));
	assert_int_equal(npu_session_pos(s), 20);
	assert_int_equal(npu_session_eval(s, m->tokens, 1, after, 1), NPU_ERR_LIMIT);
	/* And after a reset everything is as new. */
	ok(npu_session_reset(s));
	assert_int_equal(npu_session_pos(s), 0);
	ok(npu_session_eval(s, m->tokens, 18, after, 1));
	assert_memory_equal(before, after, row);
	npu_session_close(s);
	free(after);
	free(before);
}

static void test_refusals(void **state)
{
	struct model m;

	(void)state;
	model_open(&m, &tiny_default);
	check_refusals(&m, "cpu");
	check_refusals(&m, "sim");
	model_close(&m);
}

static void test_options(void **state)
{
	struct npu_session_options opt = { .struct_size = sizeof(opt), .device = "cpu" }, bad;
	struct model m;
	npu_session *s;

	(void)state;
	model_open(&m, &tiny_default);
#define REFUSED(field, value, status) \
	do { \
		bad = opt; \
		bad.field = value; \
		assert_int_equal(npu_session_open(m.gguf, &bad, &s), status); \
		assert_null(s); \
	} while (0)
	assert_int_equal(npu_session_open(m.gguf, &opt, NULL), NPU_ERR_INVALID);
	assert_int_equal(npu_session_open(NULL, &opt, &s), NPU_ERR_INVALID);
	assert_null(s);
	REFUSED(struct_size, 4, NPU_ERR_INVALID);
	REFUSED(n_ctx, 301, NPU_ERR_LIMIT);
	REFUSED(prefill_chunk, 5000, NPU_ERR_LIMIT);
	REFUSED(n_threads, -1, NPU_ERR_INVALID);
	REFUSED(n_threads, NPU_SESSION_MAX_THREADS + 1, NPU_ERR_INVALID);
	REFUSED(n_ctx, UINT32_MAX, NPU_ERR_LIMIT);
	REFUSED(prefill_chunk, UINT32_MAX, NPU_ERR_LIMIT);
	REFUSED(device, "abacus", NPU_ERR_INVALID);
	npu_session_close(NULL);
	setenv("NPU_DEVICE", "cpu", 1);
	ok(npu_session_open(m.gguf, NULL, &s));
	unsetenv("NPU_DEVICE");
	assert_string_equal(npu_session_device_name(s), "cpu");
	assert_int_equal(npu_session_n_ctx(s), 300);
	assert_int_equal(npu_session_n_vocab(s), 90);
	npu_session_close(s);
	model_close(&m);
}

static void test_stats(void **state)
{
	struct npu_session_stats st = { .struct_size = sizeof(st) };
	const struct npu_placement *p;
	struct model m;
	npu_session *s;
	uint32_t matmuls = 0;
	float logits[90];
	size_t n;

	(void)state;
	model_open(&m, &tiny_default);
	s = open_on(&m, "cpu", 0, 0);
	ok(npu_session_eval(s, m.tokens, 3, logits, 1));
	ok(npu_session_get_stats(s, &st));
	assert_int_equal(st.jobs, 0);
	assert_true(isnan(st.temperature_c));
	assert_true(st.wall_ns > 0 && st.cpu_ns > 0);
	assert_int_equal(st.host_copied_bytes, 3 * 4 + sizeof(logits));
	assert_int_equal(st.kv_bytes, 2 * 2 * 300 * 32 * 2);
	assert_true(st.weight_bytes > 0 && st.scratch_bytes > 0);
	st.struct_size = 8;
	assert_int_equal(npu_session_get_stats(s, &st), NPU_ERR_INVALID);
	p = npu_session_placement(s, &n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(p[i].n_npu, 0);
		assert_non_null(p[i].reason);
		if (!strcmp(p[i].op, "matmul"))
			matmuls += p[i].n_cpu;
	}
	assert_int_equal(matmuls, 15);
	assert_int_equal(npu_session_segments_per_decode(s), 0);
	npu_session_close(s);
	model_close(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_npu_same_bits),
		cmocka_unit_test(test_npu_placement),
		cmocka_unit_test(test_npu_fallback),
		cmocka_unit_test(test_device_failure),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_reopen),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_stats),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
