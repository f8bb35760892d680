// SPDX-License-Identifier: MIT
#include "mmu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dma.h"
#include "fault_points.h"

#define TLB_PAGES	1024	/* entries for 4 KiB leaves, direct mapped */
#define TLB_BLOCKS	64	/* and for 2 MiB leaves */
#define PORTS_MAX	(NE1_MAX_CORES + 2)	/* cores, the window, the fault engine */

#define PAGE_SHIFT	12
#define BLOCK_SHIFT	21
#define LEVEL_BITS	9
#define LEVEL_MASK	((1u << LEVEL_BITS) - 1)

struct tlb_entry {
	uint64_t first, last;	/* VA range with one stretch of memory behind it */
	uint64_t epoch;		/* of the ASID when it was filled, 0: empty */
	uint64_t dma_generation;
	uint8_t *mem;		/* of first */
	uint8_t asid;
	bool writable;		/* by page table and bus */
};

struct asid {
	uint64_t pgd;
	bool enabled;
	atomic_uint_fast64_t epoch;	/* grows with every drop */
};

struct sim_mmu_port {
	struct sim_mem mem;	/* first: sim_mem callbacks cast back */
	struct sim_mmu *mmu;
	struct sim_fi *faults;
	atomic_uint_fast64_t brackets;	/* enters + leaves: odd while inside */
	uint64_t busy_mark;		/* brackets at the last invalidate; under mmu->lock */
	struct tlb_entry pages[TLB_PAGES];
	struct tlb_entry blocks[TLB_BLOCKS];
};

struct sim_mmu {
	struct sim_dma *dma;
	struct sim_fi *faults;
	unsigned int asids;
	pthread_mutex_t lock;	/* pgd and enabled of asid[], port[], busy_mark */
	struct asid asid[NE1_MAX_ASIDS];
	struct sim_mmu_port *port[PORTS_MAX];
};

struct sim_mmu *sim_mmu_new(struct sim_dma *dma, unsigned int asids)
{
	struct sim_mmu *mmu;

	if (asids > NE1_MAX_ASIDS)
		return NULL;
	mmu = calloc(1, sizeof(*mmu));
	if (!mmu)
		return NULL;
	mmu->dma = dma;
	mmu->asids = asids;
	pthread_mutex_init(&mmu->lock, NULL);
	for (unsigned int i = 0; i < asids; i++)
		atomic_init(&mmu->asid[i].epoch, 1);	/* empty entries carry 0 */
	return mmu;
}

void sim_mmu_free(struct sim_mmu *mmu)
{
	if (!mmu)
		return;
	pthread_mutex_destroy(&mmu->lock);
	free(mmu);
}

void sim_mmu_set_asid(struct sim_mmu *mmu, unsigned int asid, uint64_t pgd, bool enable)
{
	if (asid >= mmu->asids)
		return;
	sim_fi_set_asid(mmu->faults, asid, pgd & NE1_PTE_ADDR);
	pthread_mutex_lock(&mmu->lock);
	mmu->asid[asid].pgd = pgd & NE1_PTE_ADDR;
	mmu->asid[asid].enabled = enable;
	atomic_fetch_add(&mmu->asid[asid].epoch, 1);
	pthread_mutex_unlock(&mmu->lock);
}

void sim_mmu_reset(struct sim_mmu *mmu)
{
	for (unsigned int i = 0; i < mmu->asids; i++)
		sim_mmu_set_asid(mmu, i, 0, false);
}

void sim_mmu_invalidate(struct sim_mmu *mmu)
{
	if (sim_fi_tlb_stale(mmu->faults))
		return;
	pthread_mutex_lock(&mmu->lock);
	for (unsigned int i = 0; i < mmu->asids; i++)
		atomic_fetch_add(&mmu->asid[i].epoch, 1);
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		if (mmu->port[i])
			mmu->port[i]->busy_mark = atomic_load(&mmu->port[i]->brackets);
	pthread_mutex_unlock(&mmu->lock);
}

bool sim_mmu_busy(struct sim_mmu *mmu)
{
	bool busy = false;

	pthread_mutex_lock(&mmu->lock);
	for (unsigned int i = 0; i < PORTS_MAX && !busy; i++) {
		struct sim_mmu_port *port = mmu->port[i];

		busy = port && port->busy_mark % 2 &&
		       atomic_load(&port->brackets) == port->busy_mark;
	}
	pthread_mutex_unlock(&mmu->lock);
	return busy;
}

/* One table entry, read as the hardware does: whole. */
static bool read_pte(struct sim_mmu *mmu, uint64_t table, unsigned int index, uint64_t *pte)
{
	uint64_t len;
	uint8_t *mem = sim_dma_find(mmu->dma, table + index * 8, false, NULL, &len);

	if (!mem || len < 8)
		return false;
	*pte = __atomic_load_n((uint64_t *)mem, __ATOMIC_ACQUIRE);
	return true;
}

/* Address of the leaf of @va and its size, or why there is none. */
static enum ne1_mmu_code walk(struct sim_mmu *mmu, uint64_t pgd, uint64_t va, uint64_t *pte,
			      unsigned int *shift)
{
	const uint64_t known = NE1_PTE_VALID | NE1_PTE_LEAF | NE1_PTE_RO | NE1_PTE_ADDR;
	uint64_t table = pgd;

	for (int level = 2; level >= 0; level--) {
		bool leaf;

		*shift = PAGE_SHIFT + level * LEVEL_BITS;
		if (!read_pte(mmu, table, va >> *shift & LEVEL_MASK, pte))
			return NE1_MMU_BUS;
		if (!(*pte & NE1_PTE_VALID) || *pte & ~known)
			return NE1_MMU_NOT_PRESENT;
		leaf = *pte & NE1_PTE_LEAF;
		if (leaf && (level == 2 || *pte & NE1_PTE_ADDR & ((1ull << *shift) - 1)))
			return NE1_MMU_NOT_PRESENT;	/* no 1 GiB leaves, no crooked 2 MiB ones */
		if (!leaf && (level == 0 || *pte & NE1_PTE_RO))
			return NE1_MMU_NOT_PRESENT;
		if (leaf)
			return NE1_MMU_OK;
		table = *pte & NE1_PTE_ADDR;
	}
	return NE1_MMU_NOT_PRESENT;
}

/* Higher address bits count too: buffers like to start at multiples of large powers of two. */
static struct tlb_entry *page_slot(struct sim_mmu_port *port, unsigned int asid, uint64_t va)
{
	uint64_t page = va >> PAGE_SHIFT;

	return port->pages + ((page ^ page >> 10 ^ page >> 20 ^ asid * 67u) % TLB_PAGES);
}

static struct tlb_entry *block_slot(struct sim_mmu_port *port, unsigned int asid, uint64_t va)
{
	uint64_t block = va >> BLOCK_SHIFT;

	return port->blocks + ((block ^ block >> 6 ^ block >> 12 ^ asid * 5u) % TLB_BLOCKS);
}

static bool hit(const struct tlb_entry *e, unsigned int asid, uint64_t va, uint64_t epoch,
		uint64_t dma_gen)
{
	return e->epoch == epoch && e->asid == asid && e->first <= va && va <= e->last &&
	       e->dma_generation == dma_gen;
}

static enum ne1_mmu_code fill(struct sim_mmu_port *port, unsigned int asid, uint64_t va,
			      uint64_t epoch, bool write, struct tlb_entry **out)
{
	struct sim_mmu *mmu = port->mmu;
	uint64_t pgd, pte, in_leaf, leaf, before, after, ahead;
	struct tlb_entry *e;
	enum ne1_mmu_code code;
	unsigned int shift;
	uint8_t *mem;
	bool enabled;

	pthread_mutex_lock(&mmu->lock);
	pgd = mmu->asid[asid].pgd;
	enabled = mmu->asid[asid].enabled;
	pthread_mutex_unlock(&mmu->lock);
	if (!enabled)
		return NE1_MMU_RANGE;
	sim_fi_walked(mmu->faults);
	if (sim_fi_walk_fails(port->faults, asid, va))
		return NE1_MMU_BUS;
	code = walk(mmu, pgd, va, &pte, &shift);
	if (code)
		return code;
	if (write && pte & NE1_PTE_RO)
		return NE1_MMU_READ_ONLY;
	leaf = 1ull << shift;
	in_leaf = va & (leaf - 1);
	mem = sim_dma_find(mmu->dma, (pte & NE1_PTE_ADDR) + in_leaf, write, &before, &after);
	if (!mem)
		return NE1_MMU_BUS;

	/* The part of the leaf around @va that lies in one range of the bus. */
	before = before < in_leaf ? before : in_leaf;
	ahead = after < leaf - in_leaf ? after : leaf - in_leaf;
	e = shift == PAGE_SHIFT ? page_slot(port, asid, va) : block_slot(port, asid, va);
	*e = (struct tlb_entry) {
		.first = va - before, .last = va + ahead - 1, .epoch = epoch, .mem = mem - before,
		.dma_generation = sim_dma_generation(mmu->dma), .asid = asid, .writable = write,
	};
	*out = e;
	return NE1_MMU_OK;
}

static uint8_t *port_map(struct sim_mem *mem, unsigned int asid, uint64_t va, uint64_t *len,
			 bool write, enum ne1_mmu_code *code)
{
	struct sim_mmu_port *port = (struct sim_mmu_port *)mem;
	uint64_t epoch, dma_gen;
	struct tlb_entry *e;

	if (asid >= port->mmu->asids || va >> NE1_VA_BITS) {
		*code = NE1_MMU_RANGE;
		return NULL;
	}
	if (sim_fi_mmu_armed(port->faults)) {
		*code = sim_fi_translate(port->faults, asid, va, write);
		if (*code)
			return NULL;
	}
	/* Read before the tables: an entry filled while they change is already stale. */
	epoch = atomic_load(&port->mmu->asid[asid].epoch);
	dma_gen = sim_dma_generation(port->mmu->dma);
	e = page_slot(port, asid, va);
	if (!hit(e, asid, va, epoch, dma_gen))
		e = block_slot(port, asid, va);
	if (!hit(e, asid, va, epoch, dma_gen) || (write && !e->writable)) {
		mem->misses++;
		*code = fill(port, asid, va, epoch, write, &e);
		if (*code)
			return NULL;
	}
	if (*len > e->last - va + 1)
		*len = e->last - va + 1;
	*code = NE1_MMU_OK;
	return e->mem + (va - e->first);
}

void sim_mmu_set_faults(struct sim_mmu *mmu, struct sim_fi *faults)
{
	mmu->faults = faults;
}

void sim_mmu_port_set_faults(struct sim_mmu_port *port, struct sim_fi *faults)
{
	port->faults = faults;
}

static void port_enter(struct sim_mem *mem)
{
	struct sim_mmu_port *port = (struct sim_mmu_port *)mem;

	sim_dma_enter(port->mmu->dma);
	atomic_fetch_add(&port->brackets, 1);
}

static void port_leave(struct sim_mem *mem)
{
	struct sim_mmu_port *port = (struct sim_mmu_port *)mem;

	atomic_fetch_add(&port->brackets, 1);
	sim_dma_leave(port->mmu->dma);
}

struct sim_mmu_port *sim_mmu_port_new(struct sim_mmu *mmu)
{
	struct sim_mmu_port *port = calloc(1, sizeof(*port));
	unsigned int i;

	if (!port)
		return NULL;
	port->mem = (struct sim_mem) { .map = port_map, .enter = port_enter, .leave = port_leave };
	port->mmu = mmu;
	pthread_mutex_lock(&mmu->lock);
	for (i = 0; i < PORTS_MAX && mmu->port[i]; i++)
		;
	if (i < PORTS_MAX)
		mmu->port[i] = port;
	pthread_mutex_unlock(&mmu->lock);
	if (i == PORTS_MAX) {
		free(port);
		return NULL;
	}
	return port;
}

void sim_mmu_port_free(struct sim_mmu_port *port)
{
	if (!port)
		return;
	pthread_mutex_lock(&port->mmu->lock);
	for (unsigned int i = 0; i < PORTS_MAX; i++)
		if (port->mmu->port[i] == port)
			port->mmu->port[i] = NULL;
	pthread_mutex_unlock(&port->mmu->lock);
	free(port);
}

struct sim_mem *sim_mmu_port_mem(struct sim_mmu_port *port)
{
	return &port->mem;
}
