// SPDX-License-Identifier: MIT
/*
 * Runs a flat RV32 binary on the instruction-set simulator, loaded at the start of TCM, and prints
 * what it stores to OUT, one hexadecimal word per line, then how it ended.  For test_rv32.py.
 *
 *   OUT   write: print; read: 0xfeedc0de; any width
 *   EXIT  write: end
 *   IRQ   write: level of the external interrupt
 */
#include <stdio.h>
#include <stdlib.h>

#include "rv32.h"

#define OUT	0x20000000u
#define EXIT	0x20000004u
#define IRQ	0x20000008u

#define BUDGET	100000000u
#define SLICE	1000u

struct test_bus {
	struct rv32 *cpu;
	bool irq, exited;
};

static bool load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	(void)ctx;
	*value = 0xfeedc0deu & (size == 4 ? ~0u : (1u << 8 * size) - 1);
	return addr == OUT;
}

static bool store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	struct test_bus *bus = ctx;

	switch (addr) {
	case OUT:
		printf("%08x\n", size == 4 ? value : value & ((1u << 8 * size) - 1));
		return true;
	case EXIT:
		bus->exited = true;
		rv32_yield(bus->cpu);
		return true;
	case IRQ:
		bus->irq = value;
		rv32_yield(bus->cpu);
		return true;
	default:
		return false;
	}
}

static const char *run(struct test_bus *bus)
{
	for (unsigned int n = 0; n < BUDGET; n += SLICE) {
		enum rv32_exit exit = rv32_run(bus->cpu, SLICE, bus->irq);

		if (bus->exited)
			return "exit";
		if (exit == RV32_DOUBLE_FAULT)
			return "double-fault";
		if (exit == RV32_WFI) {
			/* As another thread would: the interrupt comes while it sleeps. */
			printf("wfi\n");
			bus->irq = true;
		}
	}
	return "budget";
}

int main(int argc, char **argv)
{
	static uint8_t image[NE1_MC_TCM_SIZE];
	struct test_bus bus = { 0 };
	const struct rv32_bus ops = { .load = load, .store = store, .ctx = &bus };
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	size_t size;

	if (!file) {
		fprintf(stderr, "usage: rv32-run BINARY\n");
		return EXIT_FAILURE;
	}
	size = fread(image, 1, sizeof(image), file);
	fclose(file);
	bus.cpu = rv32_new(&ops);
	if (!bus.cpu)
		return EXIT_FAILURE;
	rv32_reset(bus.cpu, NE1_MC_TCM, image, size, NE1_MC_TCM);
	printf("%s\n", run(&bus));
	rv32_free(bus.cpu);
	return EXIT_SUCCESS;
}
