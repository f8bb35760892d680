/* SPDX-License-Identifier: MIT */
/* PCG32 (O'Neill 2014): XSH-RR output of a 64-bit linear congruential generator. */
#ifndef LIBNPU_LLM_PCG_H
#define LIBNPU_LLM_PCG_H

#include <stdint.h>

struct pcg {
	uint64_t state;
	uint64_t inc;		/* odd: the stream */
};

static inline uint32_t pcg_next(struct pcg *p)
{
	uint64_t old = p->state;
	uint32_t word = (uint32_t)((old >> 18 ^ old) >> 27);
	uint32_t rot = (uint32_t)(old >> 59);

	p->state = old * 6364136223846793005u + p->inc;
	return word >> rot | word << (-rot & 31);
}

static inline void pcg_seed(struct pcg *p, uint64_t seed, uint64_t stream)
{
	p->state = 0;
	p->inc = stream << 1 | 1;
	pcg_next(p);
	p->state += seed;
	pcg_next(p);
}

/* Uniform in [0, 1): the first output gives the high bits. */
static inline double pcg_uniform(struct pcg *p)
{
	uint64_t high = pcg_next(p) >> 5, low = pcg_next(p) >> 6;

	return (double)(high << 26 | low) * 0x1p-53;
}

#endif
