/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs that measure in a guest have in common. */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline _Noreturn void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-error));
	exit(1);
}

static inline int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The value that @part of 100 are not above; sorts them. */
static inline uint64_t percentile(uint64_t *values, int count, int part)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count * part / 100];
}

#endif
