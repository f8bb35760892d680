// SPDX-License-Identifier: MIT
#include "tokenizer_build.h"

#include <stdbool.h>

void byte_char(uint8_t byte, char *out)
{
	uint32_t cp = 0, extra = 256;

	for (uint32_t b = 0; b <= byte; b++) {
		bool printable = (b > 32 && b < 127) || (b > 160 && b != 173);

		cp = printable ? b : extra++;
	}
	if (cp < 128) {
		out[0] = (char)cp;
		out[1] = 0;
	} else {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 63));
		out[2] = 0;
	}
}

static void put_tokens(struct gguf_build *b, const struct vocab_build *v)
{
	char name[3];

	gb_pair(b, "tokenizer.ggml.tokens", NPU_GGUF_ARRAY);
	gb_u32(b, NPU_GGUF_STRING);
	gb_u64(b, 256 + v->n_words + v->n_special);
	for (int byte = 0; byte < 256; byte++) {
		byte_char((uint8_t)byte, name);
		gb_str(b, byte && byte == v->missing_byte ? "[missing]" : name);
	}
	for (size_t i = 0; i < v->n_words; i++)
		gb_str(b, v->words[i]);
	for (size_t i = 0; i < v->n_special; i++)
		gb_str(b, v->special[i]);
}

static void put_types(struct gguf_build *b, const struct vocab_build *v)
{
	gb_pair(b, "tokenizer.ggml.token_type", NPU_GGUF_ARRAY);
	gb_u32(b, NPU_GGUF_I32);
	gb_u64(b, 256 + v->n_words + v->n_special);
	for (size_t i = 0; i < 256 + v->n_words; i++)
		gb_u32(b, 1);
	for (size_t i = 0; i < v->n_special; i++)
		gb_u32(b, (uint32_t)v->special_types[i]);
}

void vocab_build(struct gguf_build *b, const struct vocab_build *v)
{
	const struct { const char *key; int64_t id; } ids[] = {
		{ "tokenizer.ggml.bos_token_id", v->bos },
		{ "tokenizer.ggml.eos_token_id", v->eos },
		{ "tokenizer.ggml.unknown_token_id", v->unknown },
	};
	uint64_t n_pairs = 5 + (v->add_bos >= 0) + !!v->chat_template;

	for (int i = 0; i < 3; i++)
		n_pairs += ids[i].id >= 0;
	gb_header(b, 3, 0, n_pairs);
	gb_pair_str(b, "tokenizer.ggml.model", v->model ? v->model : "gpt2");
	gb_pair_str(b, "tokenizer.ggml.pre", v->pre ? v->pre : "smollm");
	put_tokens(b, v);
	put_types(b, v);
	gb_pair_strs(b, "tokenizer.ggml.merges", v->merges, v->n_merges);
	for (int i = 0; i < 3; i++)
		if (ids[i].id >= 0)
			gb_pair_u32(b, ids[i].key, (uint32_t)ids[i].id);
	if (v->add_bos >= 0)
		gb_pair_bool(b, "tokenizer.ggml.add_bos_token", (uint8_t)v->add_bos);
	if (v->chat_template)
		gb_pair_str(b, "tokenizer.chat_template", v->chat_template);
}
