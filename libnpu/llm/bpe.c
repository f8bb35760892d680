// SPDX-License-Identifier: MIT
/*
 * Merging: the word is a list of symbols, one a byte.  All neighbours that have a merge wait in
 * a heap, lowest rank first, leftmost first among equals.  Entries are not removed when a
 * symbol changes: an entry whose ids no longer stand side by side is dropped as it comes up.
 * O(n log n) for a word of n bytes.
 */
#include <stdlib.h>

#include "error.h"
#include "llm/bpe.h"

#define END	UINT32_MAX		/* no neighbour */
#define GONE	(UINT32_MAX - 1)	/* id of a symbol that was merged into its left one */

struct bpe_symbol {
	uint32_t id;		/* NPU_TOKEN_NONE: a byte without a token */
	uint32_t prev, next;
};

struct bpe_pair {
	uint32_t rank;
	uint32_t at;		/* index of the left symbol */
	uint32_t left, right;	/* ids when it was pushed */
};

npu_status id_list_add(struct id_list *l, uint32_t id)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		uint32_t *ids = realloc(l->ids, cap * sizeof(*ids));

		if (!ids)
			return npu_fail(NPU_ERR_NOMEM, "no memory for %zu token ids", cap);
		l->ids = ids;
		l->cap = cap;
	}
	l->ids[l->n++] = id;
	return NPU_OK;
}

static bool before(const struct bpe_pair *a, const struct bpe_pair *b)
{
	return a->rank < b->rank || (a->rank == b->rank && a->at < b->at);
}

/* Each merge takes one entry out and puts at most two in: 2n entries are enough. */
static void heap_push(struct bpe *b, struct bpe_pair p)
{
	size_t i = b->n_heap++;

	for (; i && before(&p, &b->heap[(i - 1) / 2]); i = (i - 1) / 2)
		b->heap[i] = b->heap[(i - 1) / 2];
	b->heap[i] = p;
}

static struct bpe_pair heap_pop(struct bpe *b)
{
	struct bpe_pair top = b->heap[0], last = b->heap[--b->n_heap];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < b->n_heap) {
		if (child + 1 < b->n_heap && before(&b->heap[child + 1], &b->heap[child]))
			child++;
		if (!before(&b->heap[child], &last))
			break;
		b->heap[i] = b->heap[child];
		i = child;
	}
	b->heap[i] = last;
	return top;
}

static void push_pair(struct bpe *b, const struct vocab *v, uint32_t at)
{
	const struct bpe_symbol *s = &b->symbols[at];
	const struct merge *m;

	if (s->next == END)
		return;
	m = vocab_find_merge(v, s->id, b->symbols[s->next].id);
	if (m)
		heap_push(b, (struct bpe_pair){ m->rank, at, m->left, m->right });
}

static void merge_pairs(struct bpe *b, const struct vocab *v)
{
	while (b->n_heap) {
		struct bpe_pair p = heap_pop(b);
		struct bpe_symbol *left = &b->symbols[p.at], *right;

		if (left->id != p.left || left->next == END)
			continue;
		right = &b->symbols[left->next];
		if (right->id != p.right)
			continue;
		left->id = vocab_find_merge(v, p.left, p.right)->merged;
		right->id = GONE;
		left->next = right->next;
		if (left->next != END)
			b->symbols[left->next].prev = p.at;
		if (left->prev != END)
			push_pair(b, v, left->prev);
		push_pair(b, v, p.at);
	}
}

static npu_status reserve(struct bpe *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;

	if (n <= b->cap)
		return NPU_OK;
	while (cap < n)
		cap *= 2;
	bpe_free(b);
	b->symbols = malloc(cap * sizeof(*b->symbols));
	b->heap = malloc(2 * cap * sizeof(*b->heap));
	if (!b->symbols || !b->heap)
		return npu_fail(NPU_ERR_NOMEM, "no memory for a word of %zu bytes", n);
	b->cap = cap;
	return NPU_OK;
}

/* A byte that the vocabulary lacks is the unknown token, or nothing if there is none. */
static npu_status emit(const struct bpe *b, const struct vocab *v, struct id_list *out)
{
	npu_status st = NPU_OK;

	for (uint32_t i = 0; !st && i != END; i = b->symbols[i].next) {
		uint32_t id = b->symbols[i].id;

		if (id == NPU_TOKEN_NONE)
			id = v->unknown;
		if (id != NPU_TOKEN_NONE)
			st = id_list_add(out, id);
	}
	return st;
}

npu_status bpe_word(struct bpe *b, const struct vocab *v, const char *word, size_t len,
		    struct id_list *out)
{
	npu_status st;

	if (!len)
		return NPU_OK;
	st = reserve(b, len);
	if (st)
		return st;
	for (uint32_t i = 0; i < len; i++)
		b->symbols[i] = (struct bpe_symbol){
			.id = v->byte_id[(unsigned char)word[i]],
			.prev = i ? i - 1 : END,
			.next = i + 1 < len ? i + 1 : END,
		};
	b->n_heap = 0;
	for (uint32_t i = 0; i + 1 < len; i++)
		push_pair(b, v, i);
	merge_pairs(b, v);
	return emit(b, v, out);
}

void bpe_free(struct bpe *b)
{
	free(b->symbols);
	free(b->heap);
	*b = (struct bpe){ 0 };
}
