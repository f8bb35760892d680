/* SPDX-License-Identifier: MIT */
/**
 * npu/llm.h - text to token ids and back, chat templates, choosing the next token.
 *
 * Everything here comes from the metadata of a GGUF file; no weights are touched.
 *
 * Thread safety: npu_tokenizer and npu_chat are immutable after creation and may be shared by
 * threads; npu_detok and npu_sampler belong to one thread at a time.
 */
#ifndef NPU_LLM_H
#define NPU_LLM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu/gguf.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "No such token", for models without a BOS or EOS. */
#define NPU_TOKEN_NONE		UINT32_MAX

/** Longest text that npu_tokenizer_encode() takes, bytes. */
#define NPU_TOKENIZE_MAX_BYTES	(16u << 20)

/* ---- tokenizer ------------------------------------------------------------------------- */

typedef struct npu_tokenizer npu_tokenizer;

enum npu_tokenize_flags {
	/** Control tokens written in the text ("<|im_end|>") become their ids.  Without it
	 *  they are ordinary text; user-defined tokens are recognised either way. */
	NPU_TOKENIZE_SPECIAL = 1u << 0,
	/** Put the BOS token first if the model asks for it (tokenizer.ggml.add_bos_token). */
	NPU_TOKENIZE_BOS = 1u << 1,
};

/**
 * Build a tokenizer from @g's metadata.  Supported: byte-level BPE (tokenizer.ggml.model
 * "gpt2") with the pre-tokenizers of libnpu/llm/pretok.c; others: NPU_ERR_UNSUPPORTED with the
 * name.  NPU_ERR_FORMAT if the vocabulary contradicts itself.  The object keeps no reference
 * to @g.
 */
NPU_API npu_status npu_tokenizer_new(const npu_gguf *g, npu_tokenizer **out);
NPU_API void npu_tokenizer_del(npu_tokenizer *t);

NPU_API uint32_t npu_tokenizer_n_vocab(const npu_tokenizer *t);
/** The token's id, or NPU_TOKEN_NONE. */
NPU_API uint32_t npu_tokenizer_bos(const npu_tokenizer *t);
NPU_API uint32_t npu_tokenizer_eos(const npu_tokenizer *t);
/** True if generation ends with @id: eos, eot, eom or a known end token of the vocabulary. */
NPU_API bool npu_tokenizer_is_stop(const npu_tokenizer *t, uint32_t id);
/** True if @id is a control token: it has a meaning but is not part of the text. */
NPU_API bool npu_tokenizer_is_control(const npu_tokenizer *t, uint32_t id);

/**
 * Tokenise @len bytes of @text; NUL bytes and malformed UTF-8 are allowed (each malformed byte
 * is encoded as that byte).  A byte that the vocabulary has no token for becomes the unknown
 * token; without one (of that type: a control token does not count) it is left out, as other
 * implementations do.  *@ids is a new array of *@n ids, to be released with free(); it is NULL
 * when *@n is 0.  @flags: enum npu_tokenize_flags.
 * NPU_ERR_LIMIT: the text is longer than NPU_TOKENIZE_MAX_BYTES.
 */
NPU_API npu_status npu_tokenizer_encode(const npu_tokenizer *t, const char *text, size_t len,
					uint32_t flags, uint32_t **ids, size_t *n);

/**
 * The bytes that token @id stands for: for a control token its name.  They may be part of a
 * UTF-8 sequence.  NPU_ERR_INVALID: no such id.  The bytes belong to @t.
 */
NPU_API npu_status npu_tokenizer_bytes(const npu_tokenizer *t, uint32_t id,
				       const char **bytes, size_t *len);

/* ---- streaming detokenizer ------------------------------------------------------------- */

typedef struct npu_detok npu_detok;

/**
 * Turns ids into text that is valid UTF-8 after every call: an unfinished sequence waits for
 * the next token, malformed bytes become U+FFFD.  @show_control: print control tokens by name
 * instead of leaving them out.  @t must outlive the object.
 */
NPU_API npu_status npu_detok_new(const npu_tokenizer *t, bool show_control, npu_detok **out);
NPU_API void npu_detok_del(npu_detok *d);

/** Feed @id; *@text (@len bytes, perhaps 0, not NUL terminated) is valid until the next call. */
NPU_API npu_status npu_detok_push(npu_detok *d, uint32_t id, const char **text, size_t *len);

/** End of the text: what is left of an unfinished sequence, as U+FFFD.  Ready for a new text. */
NPU_API npu_status npu_detok_finish(npu_detok *d, const char **text, size_t *len);

/* ---- chat template --------------------------------------------------------------------- */

typedef struct npu_chat npu_chat;

struct npu_chat_message {
	const char *role;	/* "system", "user" or "assistant", NUL terminated */
	const char *content;
	size_t len;		/* bytes of content */
};

/**
 * Recognise the model's chat template (tokenizer.chat_template).  There is no template
 * interpreter: the text must be one of the templates in libnpu/llm/chat.c, else
 * NPU_ERR_UNSUPPORTED; NPU_ERR_NOT_FOUND if the model has none.  Keeps no reference to @g.
 */
NPU_API npu_status npu_chat_new(const npu_gguf *g, npu_chat **out);
NPU_API void npu_chat_del(npu_chat *c);

/** Name of the recognised template ("chatml"); never NULL. */
NPU_API const char *npu_chat_name(const npu_chat *c);

/**
 * The conversation as the template writes it, ending with the opening of the assistant's turn.
 * *@text is new, NUL terminated after *@len bytes, and released with free().
 */
NPU_API npu_status npu_chat_format(const npu_chat *c, const struct npu_chat_message *msgs,
				   size_t n_msgs, char **text, size_t *len);

/**
 * The same as ids.  Control tokens are recognised in what the template writes, never inside a
 * message's content: a user cannot close his own turn.
 */
NPU_API npu_status npu_chat_encode(const npu_chat *c, const npu_tokenizer *t,
				   const struct npu_chat_message *msgs, size_t n_msgs,
				   uint32_t **ids, size_t *n);

/* ---- sampler --------------------------------------------------------------------------- */

typedef struct npu_sampler npu_sampler;

/**
 * Applied in this order; a step at its neutral value is skipped:
 * repetition penalty, top-k, top-p, min-p, temperature, draw.
 * Random numbers: PCG32 (XSH-RR 64/32, stream 54) seeded with @seed; two outputs give the 53
 * bits of a draw.  exp() is the library's own, made of exactly rounded operations, so the same
 * logits and seed give the same tokens on every platform.
 */
struct npu_sampler_options {
	uint32_t struct_size;	/* sizeof(struct npu_sampler_options) */
	float temperature;	/* 0: greedy (the lowest id wins a tie) */
	uint32_t top_k;		/* keep the k largest logits; 0: all */
	float top_p;		/* keep the smallest set with this probability; 1: all */
	float min_p;		/* drop what is less probable than min_p times the best; 0: none */
	float repeat_penalty;	/* divide (or multiply negative) logits of recent tokens; 1: off */
	uint32_t repeat_last;	/* tokens that count as recent, at most 65536 */
	uint64_t seed;
};

/** Greedy, everything else neutral. */
NPU_API void npu_sampler_defaults(struct npu_sampler_options *opt);

/** NPU_ERR_INVALID names the option that is out of range. */
NPU_API npu_status npu_sampler_new(const struct npu_sampler_options *opt, uint32_t n_vocab,
				   npu_sampler **out);
NPU_API void npu_sampler_del(npu_sampler *s);

/** Tell the repetition penalty about a token of the prompt or of the answer. */
NPU_API npu_status npu_sampler_accept(npu_sampler *s, uint32_t id);

/**
 * Choose a token from n_vocab logits; does not call npu_sampler_accept().
 * NPU_ERR_INVALID if a logit is NaN or +inf (the message has its id) or none is finite.
 */
NPU_API npu_status npu_sampler_sample(npu_sampler *s, const float *logits, uint32_t *id);

#ifdef __cplusplus
}
#endif
#endif
