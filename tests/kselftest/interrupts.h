/* SPDX-License-Identifier: GPL-2.0 */
/* Interrupts of the device as the kernel counts them: each vector has a line of its own, or all share one. */
#ifndef NPUEDGE_SELFTEST_INTERRUPTS_H
#define NPUEDGE_SELFTEST_INTERRUPTS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Interrupts so far, on all processors, of the lines whose name contains @name; how many lines these are. */
static inline unsigned int npu_irq_lines(const char *name, unsigned long *sum)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned int lines = 0;
	char line[1024];

	*sum = 0;
	while (file && fgets(line, sizeof(line), file)) {
		char *text = strchr(line, ':'), *end;

		if (!text || !strstr(line, name))
			continue;
		lines++;
		for (text++;; text = end) {
			unsigned long value = strtoul(text, &end, 10);

			if (end == text)
				break;
			*sum += value;
		}
	}
	if (file)
		fclose(file);
	return lines;
}

/* All causes share a line. */
static inline bool npu_irq_shared(void)
{
	unsigned long sum;

	return npu_irq_lines("npuedge-all", &sum) > 0;
}

/* Interrupts so far of a vector (queue, event, mmu, fatal), or of all if they share a line. */
static inline unsigned long npu_interrupts(const char *vector)
{
	unsigned long sum;
	char name[32];

	snprintf(name, sizeof(name), "npuedge-%s", npu_irq_shared() ? "all" : vector);
	npu_irq_lines(name, &sum);
	return sum;
}

#endif
