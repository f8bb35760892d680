// SPDX-License-Identifier: MIT
/*
 * Ids to text as they come.  Bytes collect in a buffer; what is complete UTF-8 is handed out,
 * the start of an unfinished sequence (at most 3 bytes) stays for the next call.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "llm/utf8.h"
#include "npu/llm.h"

static const char replacement[] = "\xef\xbf\xbd";	/* U+FFFD */

struct npu_detok {
	const npu_tokenizer *t;
	bool show_control;
	char tail[3];
	uint32_t n_tail;
	char *text;		/* what the last call returned */
	size_t cap;
};

npu_status npu_detok_new(const npu_tokenizer *t, bool show_control, npu_detok **out)
{
	npu_detok *d;

	if (!out)
		return npu_fail(NPU_ERR_INVALID, "npu_detok_new: no place for the detokenizer");
	*out = NULL;
	if (!t)
		return npu_fail(NPU_ERR_INVALID, "npu_detok_new: no tokenizer");
	d = calloc(1, sizeof(*d));
	if (!d)
		return npu_fail(NPU_ERR_NOMEM, "no memory for the detokenizer");
	d->t = t;
	d->show_control = show_control;
	*out = d;
	return NPU_OK;
}

void npu_detok_del(npu_detok *d)
{
	if (!d)
		return;
	free(d->text);
	free(d);
}

static npu_status reserve(npu_detok *d, size_t n)
{
	char *text;

	if (n <= d->cap)
		return NPU_OK;
	text = realloc(d->text, n);
	if (!text)
		return npu_fail(NPU_ERR_NOMEM, "no memory for a token's text of %zu bytes", n);
	d->text = text;
	d->cap = n;
	return NPU_OK;
}

/* Copies @n bytes at @in to text + @at, malformed ones as U+FFFD; keeps an unfinished tail. */
static size_t clean(npu_detok *d, const char *in, size_t n, size_t at)
{
	size_t i = 0;

	while (i < n) {
		int used = utf8_next(in + i, n - i, NULL);

		if (!used) {
			d->n_tail = (uint32_t)(n - i);
			memcpy(d->tail, in + i, n - i);
			break;
		}
		if (used > 0) {
			memcpy(d->text + at, in + i, (size_t)used);
			at += (size_t)used;
		} else {
			memcpy(d->text + at, replacement, 3);
			at += 3;
		}
		i += (size_t)abs(used);
	}
	return at;
}

npu_status npu_detok_push(npu_detok *d, uint32_t id, const char **text, size_t *len)
{
	const char *bytes;
	size_t n, total;
	char *in;
	npu_status st;

	*text = "";
	*len = 0;
	st = npu_tokenizer_bytes(d->t, id, &bytes, &n);
	if (st)
		return st;
	if (npu_tokenizer_is_control(d->t, id) && !d->show_control)
		return NPU_OK;
	/* The result is at most 3 bytes for each byte in; the input lies behind it. */
	total = d->n_tail + n;
	st = reserve(d, 4 * total);
	if (st)
		return st;
	if (!total)
		return NPU_OK;
	in = d->text + 3 * total;
	memcpy(in, d->tail, d->n_tail);
	memcpy(in + d->n_tail, bytes, n);
	d->n_tail = 0;
	*len = clean(d, in, total, 0);
	*text = d->text;
	return NPU_OK;
}

npu_status npu_detok_finish(npu_detok *d, const char **text, size_t *len)
{
	*text = d->n_tail ? replacement : "";
	*len = d->n_tail ? 3 : 0;
	d->n_tail = 0;
	return NPU_OK;
}
