/* SPDX-License-Identifier: MIT */
#include "asid.h"

#include "hal.h"

struct slot {
	uint32_t vm;		/* 0: free */
	uint64_t pgd;
	uint32_t binding;
	uint32_t used;		/* `uses` at the last asid_get() */
	uint32_t jobs;		/* running with it */
};

static struct slot slots[NE1_MAX_ASIDS];
static unsigned int slot_count;
static uint32_t uses, bindings;

void asid_init(unsigned int count)
{
	for (unsigned int i = 0; i < NE1_MAX_ASIDS; i++)
		slots[i] = (struct slot){ .vm = 0 };
	slot_count = count;
	uses = 0;
	bindings = 0;
}

static unsigned int find(uint32_t vm)
{
	for (unsigned int i = 1; i < slot_count; i++) {
		if (slots[i].vm == vm)
			return i;
	}
	return 0;
}

/* A free slot, else the idle one used longest ago.  Ages are differences, so they may wrap. */
static unsigned int victim(void)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < slot_count; i++) {
		if (!slots[i].vm)
			return i;
		if (!slots[i].jobs && (!best || uses - slots[i].used > uses - slots[best].used))
			best = i;
	}
	return best;
}

static void bind(unsigned int asid, uint32_t vm, uint64_t pgd)
{
	struct slot *s = &slots[asid];

	s->vm = vm;
	s->pgd = pgd;
	if (!++bindings)
		bindings = 1;
	s->binding = bindings;
	hal_write(NE1_MC_AS_CTRL(asid), 0);
	hal_write(NE1_MC_AS_PGD_LO(asid), (uint32_t)pgd);
	hal_write(NE1_MC_AS_PGD_HI(asid), (uint32_t)(pgd >> 32));
	hal_write(NE1_MC_AS_CTRL(asid), NE1_MC_AS_ENABLE);
}

unsigned int asid_get(uint32_t vm, uint64_t pgd)
{
	unsigned int asid = find(vm);

	if (!asid)
		asid = victim();
	if (!asid)
		return 0;
	/* Once its queues are gone, a VM's number may come back for another without a flush. */
	if (slots[asid].vm != vm || slots[asid].pgd != pgd)
		bind(asid, vm, pgd);
	slots[asid].used = ++uses;
	slots[asid].jobs++;
	return asid;
}

void asid_put(unsigned int asid)
{
	slots[asid].jobs--;
}

uint32_t asid_binding(unsigned int asid)
{
	return slots[asid].binding;
}

bool asid_available(uint32_t vm)
{
	return find(vm) || victim();
}

void asid_flush(uint32_t vm)
{
	unsigned int asid = find(vm);

	if (!asid)
		return;
	hal_write(NE1_MC_AS_CTRL(asid), 0);
	slots[asid].vm = 0;
}
