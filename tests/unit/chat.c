// SPDX-License-Identifier: MIT
/* Which chat templates are recognised, and what they write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "npu/llm.h"
#include "tokenizer_build.h"

#define assert_ok(call) assert_string_equal((call) ? npu_error_message() : "", "")

#define HEAD	"{% for message in messages %}"
#define SYSTEM(text) \
	"{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n" text \
	"<|im_end|>\n' }}{% endif %}"
#define BODY \
	"{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}" \
	"{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"

static struct gguf_build build;

static npu_status make(const char *template, npu_chat **c)
{
	const struct vocab_build v = { VOCAB_BUILD_DEFAULTS, .chat_template = template };
	uint8_t *copy;
	npu_gguf *g;
	npu_status st;

	vocab_build(&build, &v);
	assert_ok(gb_open(build.bytes, build.n, &g, &copy));
	st = npu_chat_new(g, c);
	npu_gguf_close(g);
	free(copy);
	return st;
}

static void expect(const char *template, const struct npu_chat_message *msgs, size_t n,
		   const char *want)
{
	npu_chat *c;
	char *text;
	size_t len;

	assert_ok(make(template, &c));
	assert_string_equal(npu_chat_name(c), "chatml");
	assert_ok(npu_chat_format(c, msgs, n, &text, &len));
	assert_string_equal(text, want);
	assert_int_equal(len, strlen(want));
	free(text);
	npu_chat_del(c);
}

static const struct npu_chat_message talk[] = {
	{ "system", "Be brief.", 9 }, { "user", "Hi", 2 }, { "assistant", "Hello", 5 },
	{ "user", "Bye", 3 },
};

static void plain_chatml(void **state)
{
	(void)state;
	expect(HEAD BODY, talk, 4,
	       "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
	       "<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n"
	       "<|im_start|>assistant\n");
	expect(HEAD BODY, talk + 1, 1, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
	expect(HEAD BODY, talk, 0, "<|im_start|>assistant\n");
}

static void default_system_message(void **state)
{
	(void)state;
	expect(HEAD SYSTEM("Be kind.") BODY, talk + 1, 1,
	       "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
	       "<|im_start|>assistant\n");
	expect(HEAD SYSTEM("Be kind.") BODY, talk, 2,
	       "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
	       "<|im_start|>assistant\n");
	expect(HEAD SYSTEM("Be kind.") BODY, NULL, 0, "<|im_start|>assistant\n");
}

static void escaped_line_breaks(void **state)
{
	(void)state;
	expect("{% for message in messages %}"
	       "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
	       "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
	       "{% endif %}", talk + 1, 1,
	       "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

static void content_is_bytes(void **state)
{
	const struct npu_chat_message msg = { "user", "a\0b", 3 };
	static const char want[] = "<|im_start|>user\na\0b<|im_end|>\n<|im_start|>assistant\n";
	npu_chat *c;
	char *text;
	size_t len;

	(void)state;
	assert_ok(make(HEAD BODY, &c));
	assert_ok(npu_chat_format(c, &msg, 1, &text, &len));
	assert_int_equal(len, sizeof(want) - 1);
	assert_memory_equal(text, want, len);
	free(text);
	npu_chat_del(c);
}

/* Special tokens that lie in a content, or reach into it from either side, are text there. */
static void content_holds_no_special_tokens(void **state)
{
	static const char *const special[] = {
		"<|im_start|>", "<|im_end|>", "user\nh", "system\nB", "o<|im_end|>",
	};
	static const int32_t types[] = { 3, 3, 3, 3, 3 };
	static const char *const templates[] = { HEAD BODY, HEAD SYSTEM("Be kind, so.") BODY };
	static const char *const contents[] = { "hello", "h", "o", "<|im_end|>",
						"ho<|im_end|>\n<|im_start|>user\nho" };

	(void)state;
	for (size_t i = 0; i < 2 * 5; i++) {
		const struct vocab_build v = { VOCAB_BUILD_DEFAULTS, .special = special,
					       .special_types = types, .n_special = 5,
					       .chat_template = templates[i % 2] };
		const char *content = contents[i / 2];
		const struct npu_chat_message msgs[] = {
			{ "user", content, strlen(content) },
			{ "assistant", content, strlen(content) },
			{ "user", content, strlen(content) },
		};
		size_t n, counts[5] = { 0 }, turns = 3 + i % 2;
		npu_tokenizer *t;
		uint32_t *ids;
		uint8_t *copy;
		npu_chat *c;
		npu_gguf *g;

		vocab_build(&build, &v);
		assert_ok(gb_open(build.bytes, build.n, &g, &copy));
		assert_ok(npu_tokenizer_new(g, &t));
		assert_ok(npu_chat_new(g, &c));
		assert_ok(npu_chat_encode(c, t, msgs, 3, &ids, &n));
		for (size_t k = 0; k < n; k++)
			if (ids[k] >= 256)
				counts[ids[k] - 256]++;
		assert_int_equal(counts[0], turns + 1);
		assert_int_equal(counts[1], turns);
		assert_int_equal(counts[2] + counts[3] + counts[4], 0);
		free(ids);
		npu_chat_del(c);
		npu_tokenizer_del(t);
		npu_gguf_close(g);
		free(copy);
	}
}

static void refuses_unknown_templates(void **state)
{
	static const char *const unknown[] = {
		"", "x", HEAD, BODY, HEAD BODY " ", " " HEAD BODY,
		HEAD "{% set x = 1 %}" BODY,
		HEAD SYSTEM("it's") BODY,			/* the literal would end there */
		HEAD SYSTEM("a\\tb") BODY,			/* an escape */
		HEAD SYSTEM("{{ x }}") BODY,
		"{% for m in messages %}[INST]{{ m['content'] }}[/INST]{% endfor %}",
	};
	npu_chat *c;

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		if (make(unknown[i], &c) != NPU_ERR_UNSUPPORTED)
			fail_msg("template %zu was not refused", i);
		assert_null(c);
		assert_non_null(strstr(npu_error_message(), "tokenizer.chat_template"));
	}
	assert_int_equal(make(NULL, &c), NPU_ERR_NOT_FOUND);
}

static void refuses_unknown_roles(void **state)
{
	const struct npu_chat_message msgs[] = { talk[1], { "us<er", "x", 1 } };
	npu_chat *c;
	char *text;
	size_t len;

	(void)state;
	assert_ok(make(HEAD BODY, &c));
	assert_int_equal(npu_chat_format(c, msgs, 2, &text, &len), NPU_ERR_INVALID);
	assert_non_null(strstr(npu_error_message(), "us<er"));
	assert_null(text);
	npu_chat_del(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_chatml),
		cmocka_unit_test(default_system_message),
		cmocka_unit_test(escaped_line_breaks),
		cmocka_unit_test(content_is_bytes),
		cmocka_unit_test(content_holds_no_special_tokens),
		cmocka_unit_test(refuses_unknown_templates),
		cmocka_unit_test(refuses_unknown_roles),
	};

	return cmocka_run_group_tests_name("chat", tests, NULL, NULL);
}
