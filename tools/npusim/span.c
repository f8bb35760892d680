// SPDX-License-Identifier: MIT
/* SRAM operands as sets of bytes: bounds, and whether two of them meet. */
#include "engine.h"

static uint64_t span_end(const struct sim_span *s)
{
	return s->addr + (uint64_t)(s->outer - 1) * s->stride_o +
	       (uint64_t)(s->inner - 1) * s->stride_i + s->bytes;
}

enum ne1_fault sim_plan_span(const struct sim_ctx *ctx, struct sim_plan *plan, struct sim_span span,
			     uint64_t bytes, uint32_t align)
{
	uint32_t strides =
		(span.inner > 1 ? span.stride_i : 0) | (span.outer > 1 ? span.stride_o : 0);

	if (bytes > ctx->chip->sram_bytes || (span.addr | strides) & (align - 1))
		return NE1_FAULT_SRAM;
	span.bytes = (uint32_t)bytes;
	/* Counts and strides are 32 bits and at most one count exceeds 16: no overflow in 64. */
	if (span_end(&span) > ctx->chip->sram_bytes)
		return NE1_FAULT_SRAM;
	plan->span[plan->n_spans++] = span;
	return NE1_FAULT_NONE;
}

/* Does [start, end) meet a row of the inner dimension that begins at @base? */
static bool meets_rows(uint64_t start, uint64_t end, uint64_t base, const struct sim_span *s)
{
	uint64_t first;

	if (end <= base)
		return false;
	if (!s->stride_i || s->inner == 1)
		return start < base + s->bytes;
	/* First row that ends after start. */
	first = start < base + s->bytes ? 0 : (start - base - s->bytes) / s->stride_i + 1;
	return first < s->inner && base + first * s->stride_i < end;
}

static bool meets(uint64_t start, uint64_t end, const struct sim_span *s)
{
	uint32_t o, n = s->stride_o ? s->outer : 1;

	for (o = 0; o < n; o++)
		if (meets_rows(start, end, s->addr + (uint64_t)o * s->stride_o, s))
			return true;
	return false;
}

bool sim_span_conflict(const struct sim_span *a, const struct sim_span *b)
{
	const struct sim_span *few = a, *many = b;
	uint64_t row;
	uint32_t o, i;

	if (!a->write && !b->write)
		return false;
	if (a->addr >= span_end(b) || b->addr >= span_end(a))
		return false;
	if ((uint64_t)a->outer * a->inner > (uint64_t)b->outer * b->inner) {
		few = b;
		many = a;
	}
	for (o = 0; o < (few->stride_o ? few->outer : 1); o++)
		for (i = 0; i < (few->stride_i ? few->inner : 1); i++) {
			row = few->addr + (uint64_t)o * few->stride_o + (uint64_t)i * few->stride_i;
			if (meets(row, row + few->bytes, many))
				return true;
		}
	return false;
}
