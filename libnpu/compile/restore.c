// SPDX-License-Identifier: MIT
/*
 * What stands behind the YIELDs of a stream.  While commands are added, a later one may still make
 * an earlier one signal, so how far each semaphore is ahead of its waits at a YIELD is known only
 * when the stream is finished; then the blocks are put in.
 *
 * A block loads the SRAM, waits for its last load, and signals each semaphore as often as commands
 * before the YIELD have and nobody has waited for yet.  Regions that may be skipped balance their
 * semaphores and hold no YIELD, so they do not count.
 */
#include <stdlib.h>
#include <string.h>

#include "compile/stream.h"
#include "error.h"

#define SEM_RESTORE	SEM_PAIR(ENG_ST, ENG_ST)	/* a diagonal, free */

static bool grow(struct stream *s, void **array, uint32_t *max, uint32_t want, size_t size)
{
	uint32_t n = *max ? *max : 64;
	void *p;

	while (n < want)
		n *= 2;
	if (n == *max)
		return true;
	p = realloc(*array, n * size);
	if (!p) {
		s->status = npu_fail(NPU_ERR_NOMEM, "stream: no memory for %u loads", n);
		return false;
	}
	*array = p;
	*max = n;
	return true;
}

void stream_yield(struct stream *s, const union ne1_cmd *loads, uint32_t n)
{
	union ne1_cmd cmd = stream_cmd(NE1_OP_YIELD);

	if (s->status)
		return;
	if (!grow(s, (void **)&s->loads, &s->max_loads, s->n_loads + n, sizeof(*s->loads)) ||
	    !grow(s, (void **)&s->yields, &s->max_yields, s->n_yields + 1, sizeof(*s->yields)))
		return;
	memcpy(s->loads + s->n_loads, loads, n * sizeof(*loads));
	s->yields[s->n_yields++] = (struct stream_yield){ s->n, s->n_loads, n };
	s->n_loads += n;
	stream_append(s, &cmd, ENG_NONE);
}

/* Commands that signal @ahead[] times, two at a time; returns how many, writes them unless @out is
 * NULL.
 */
static uint32_t signals(const uint32_t *ahead, union ne1_cmd *out)
{
	union ne1_cmd cmd = stream_cmd(NE1_OP_NOP);
	uint32_t n = 0, used = 0, i, j;

	for (i = 0; i < NE1_SEMS; i++) {
		for (j = 0; j < ahead[i]; j++) {
			cmd.hdr.signal[used++] = (uint8_t)i;
			if (used < 2)
				continue;
			if (out)
				out[n] = cmd;
			n++;
			used = 0;
			cmd = stream_cmd(NE1_OP_NOP);
		}
	}
	if (!used)
		return n;
	if (out)
		out[n] = cmd;
	return n + 1;
}

static void count_semaphores(const struct ne1_cmd_hdr *h, uint32_t *ahead)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (h->wait[i] != NE1_NO_SEM)
			ahead[h->wait[i]]--;
		if (h->signal[i] != NE1_NO_SEM)
			ahead[h->signal[i]]++;
	}
}

/* Commands of the block of yield @y; writes them unless @out is NULL. */
static uint32_t block(const struct stream *s, const struct stream_yield *y, const uint32_t *ahead,
		      union ne1_cmd *out)
{
	union ne1_cmd cmd = stream_cmd(NE1_OP_NOP);
	uint32_t n = y->n_loads ? y->n_loads + 1 : 0;

	if (out && y->n_loads) {
		memcpy(out, s->loads + y->first_load, y->n_loads * sizeof(*out));
		out[y->n_loads - 1].hdr.signal[0] = SEM_RESTORE;
		cmd.hdr.wait[0] = SEM_RESTORE;
		out[y->n_loads] = cmd;
	}
	return n + signals(ahead, out ? out + n : NULL);
}

/* Writes the stream with all blocks to @out, or only counts its commands. */
static uint32_t expand(const struct stream *s, union ne1_cmd *out)
{
	uint32_t ahead[NE1_SEMS] = { 0 }, i, n = 0, behind;
	const struct stream_yield *y = s->yields;

	for (i = 0; i < s->n; i++) {
		count_semaphores(&s->cmds[i].hdr, ahead);
		if (out)
			out[n] = s->cmds[i];
		n++;
		if (y == s->yields + s->n_yields || y->at != i)
			continue;
		behind = block(s, y, ahead, out ? out + n : NULL);
		if (out)
			out[n - 1].yield.count = behind;
		n += behind;
		y++;
	}
	return n;
}

void stream_put_restores(struct stream *s)
{
	union ne1_cmd *out;
	uint32_t n;

	if (s->status || !s->n_yields)
		return;
	n = expand(s, NULL);
	out = calloc(n + 1ul, sizeof(*out));
	if (!out) {
		s->status = npu_fail(NPU_ERR_NOMEM, "stream: no memory for %u commands", n);
		return;
	}
	expand(s, out);
	free(s->cmds);
	s->cmds = out;
	s->n = s->max = n;
}
