// SPDX-License-Identifier: MIT
/*
 * One thread runs everything of the management core: reset, boot ROM, then firmware in slices of
 * instructions.  Between slices it looks at what the host asked for and at the time.  While
 * firmware waits (WFI) the thread sleeps until an interrupt, a host request or the next deadline.
 *
 * The lock guards what host and compute cores may touch; the rest belongs to the thread.
 */
#include "mc.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chip.h"
#include "dma.h"
#include "fault_points.h"
#include "hooks.h"
#include "log.h"
#include "mmu.h"
#include "regs.h"
#include "rv32.h"
#include "soc.h"
#include "trace.h"
#include "worker.h"

#define SLICE		4096		/* instructions, tens of microseconds */
#define WAIT_MIN_NS	50000
#define WAIT_RUNNING_NS 1000000 /* with jobs running device time may leap ahead of the host's */
#define WAIT_HELD_NS	1000000

#define PANIC_DOUBLE_FAULT	0xffu

#define NS_PER_MS	1000000ull
#define NS_PER_S	1000000000ull

enum action { ACT_QUIT, ACT_RESET, ACT_BOOT, ACT_RUN, ACT_FAULT };

struct as_regs {
	uint64_t pgd;
	uint32_t ctrl;
};

struct sim_mc {
	struct sim_mc_parts parts;
	pthread_t thread;
	struct sim_worker *worker[NE1_MAX_CORES];
	struct sim_mmu_port *core_port[NE1_MAX_CORES];
	struct sim_core_hooks hooks;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool quit, reset_wanted, boot_wanted;
	struct sim_boot boot;
	uint32_t boot_status;
	uint32_t irq_pending, irq_enable;
	uint64_t db_pending;

	/* the thread's own */
	struct rv32 *cpu;
	struct sim_mmu_port *port;	/* the window */
	bool in_window;			/* between enter and leave of port */
	bool running, waiting;		/* firmware is there; it sits in WFI */
	struct as_regs as[NE1_MAX_ASIDS];
	uint64_t timer_ns;
	bool timer_armed;
	uint32_t watchdog_ms;
	uint64_t watchdog_device_ns, watchdog_host_ns;	/* both have to pass */
	uint32_t time_high;
	struct sim_image *image;
};

static uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- Host side ---- */

void sim_mc_start(struct sim_mc *mc, const struct sim_boot *boot)
{
	pthread_mutex_lock(&mc->lock);
	if (mc->reset_wanted || mc->boot_status == NE1_BOOT_STATE_RESET) {
		mc->boot = *boot;
		mc->boot_wanted = true;
		if (!mc->reset_wanted)
			mc->boot_status = NE1_BOOT_STATE_LOADING;
		pthread_cond_signal(&mc->wake);
	} else {
		sim_log(SIM_LOG_WARN, mc->parts.who, "START in boot state 0x%x ignored",
			mc->boot_status);
	}
	pthread_mutex_unlock(&mc->lock);
}

void sim_mc_reset(struct sim_mc *mc)
{
	pthread_mutex_lock(&mc->lock);
	mc->reset_wanted = true;
	mc->boot_wanted = false;
	mc->boot_status = NE1_BOOT_STATE_RESET;
	mc->irq_pending = 0;
	mc->db_pending = 0;
	pthread_cond_signal(&mc->wake);
	pthread_mutex_unlock(&mc->lock);
}

bool sim_mc_resetting(struct sim_mc *mc)
{
	bool resetting;

	pthread_mutex_lock(&mc->lock);
	resetting = mc->reset_wanted;
	pthread_mutex_unlock(&mc->lock);
	return resetting;
}

uint32_t sim_mc_boot_status(struct sim_mc *mc)
{
	uint32_t status;

	pthread_mutex_lock(&mc->lock);
	status = mc->boot_status;
	pthread_mutex_unlock(&mc->lock);
	return status;
}

static void post(struct sim_mc *mc, uint32_t irqs, uint64_t doorbells)
{
	pthread_mutex_lock(&mc->lock);
	mc->irq_pending |= irqs;
	mc->db_pending |= doorbells;
	pthread_cond_signal(&mc->wake);
	pthread_mutex_unlock(&mc->lock);
}

void sim_mc_doorbell(struct sim_mc *mc, unsigned int queue)
{
	post(mc, NE1_MC_IRQ_DOORBELL, 1ull << queue);
}

void sim_mc_mailbox(struct sim_mc *mc)
{
	post(mc, NE1_MC_IRQ_MBOX, 0);
}

void sim_mc_kick(struct sim_mc *mc)
{
	post(mc, 0, 0);
}

/* ---- Events of the compute cores ---- */

static void core_left_running(void *ctx)
{
	post(ctx, NE1_MC_IRQ_CORE, 0);
}

static void core_mmu_fault(void *ctx, uint32_t info, uint64_t va)
{
	struct sim_mc *mc = ctx;

	sim_regs_mmu_fault(mc->parts.regs, info, va);
}

/* ---- The window ---- */

static void leave_window(struct sim_mc *mc)
{
	struct sim_mem *mem = sim_mmu_port_mem(mc->port);

	if (mc->in_window)
		mem->leave(mem);
	mc->in_window = false;
}

/* Stays inside until the end of the slice: firmware touches shared memory in runs. */
static struct sim_mem *enter_window(struct sim_mc *mc)
{
	struct sim_mem *mem = sim_mmu_port_mem(mc->port);

	if (!mc->in_window)
		mem->enter(mem);
	mc->in_window = true;
	return mem;
}

static uint8_t *window(struct sim_mc *mc, uint64_t va, uint64_t size, bool write)
{
	struct sim_mem *mem = enter_window(mc);
	enum ne1_mmu_code code;
	uint64_t len = size;
	uint8_t *at;

	at = mem->map(mem, 0, va, &len, write, &code);
	if (!at) {
		sim_regs_mmu_fault(mc->parts.regs, NE1_UNIT_MCU << 12 | (uint32_t)code << 16 |
				   (write ? NE1_MMU_FAULT_WRITE : 0), va);
		return NULL;
	}
	return len == size ? at : NULL;
}

/* Acquire and release: the host sees stores in program order, firmware loads likewise. */
static bool window_load(struct sim_mc *mc, uint32_t addr, unsigned int size, uint32_t *value)
{
	uint64_t va = addr - NE1_MC_WINDOW;
	uint8_t *at = window(mc, va, size, false);

	if (!at)
		return false;
	if (size == 4)
		*value = __atomic_load_n((uint32_t *)at, __ATOMIC_ACQUIRE);
	else if (size == 2)
		*value = __atomic_load_n((uint16_t *)at, __ATOMIC_ACQUIRE);
	else
		*value = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	sim_fi_loaded(mc->parts.faults, va, value);
	return true;
}

static bool window_store(struct sim_mc *mc, uint32_t addr, unsigned int size, uint32_t value)
{
	uint64_t va = addr - NE1_MC_WINDOW;
	uint8_t *at;

	if (sim_fi_store(mc->parts.faults, enter_window(mc), &va, size, &value))
		return true;
	at = window(mc, va, size, true);
	if (!at)
		return false;
	if (size == 4)
		__atomic_store_n((uint32_t *)at, value, __ATOMIC_RELEASE);
	else if (size == 2)
		__atomic_store_n((uint16_t *)at, value, __ATOMIC_RELEASE);
	else
		__atomic_store_n(at, value, __ATOMIC_RELEASE);
	return true;
}

/* ---- Peripherals ---- */

static uint32_t ctrl_load(struct sim_mc *mc, uint32_t addr)
{
	uint64_t now;

	switch (addr) {
	case NE1_MC_IRQ_PENDING:
		return mc->irq_pending;
	case NE1_MC_IRQ_ENABLE:
		return mc->irq_enable;
	case NE1_MC_DB_PENDING_LO:
		return (uint32_t)mc->db_pending;
	case NE1_MC_DB_PENDING_HI:
		return mc->db_pending >> 32;
	case NE1_MC_BOOT_STATE:
		return mc->boot_status;
	case NE1_MC_TIME_LO:
		now = sim_soc_time_ns(mc->parts.soc);
		mc->time_high = now >> 32;
		return (uint32_t)now;
	case NE1_MC_TIME_HI:
		return mc->time_high;
	case NE1_MC_TIMER_LO:
		return (uint32_t)mc->timer_ns;
	case NE1_MC_TIMER_HI:
		return mc->timer_ns >> 32;
	case NE1_MC_WATCHDOG:
		return mc->watchdog_ms;
	case NE1_MC_CAP_CORES:
		return mc->parts.chip->cores;
	case NE1_MC_CAP_ASIDS:
		return mc->parts.chip->asids;
	case NE1_MC_TEMP_DIE:
		return sim_soc_temp_die_mc(mc->parts.soc);
	default:
		return 0;
	}
}

static void arm_watchdog(struct sim_mc *mc, uint32_t ms)
{
	mc->watchdog_ms = ms;
	mc->watchdog_device_ns = sim_soc_time_ns(mc->parts.soc) + ms * NS_PER_MS;
	mc->watchdog_host_ns = host_ns() + ms * NS_PER_MS;
}

static void ctrl_store(struct sim_mc *mc, uint32_t addr, uint32_t value)
{
	switch (addr) {
	case NE1_MC_IRQ_PENDING:
		mc->irq_pending &= ~value;
		break;
	case NE1_MC_IRQ_ENABLE:
		mc->irq_enable = value;
		break;
	case NE1_MC_DB_PENDING_LO:
		mc->db_pending &= ~(uint64_t)value;
		break;
	case NE1_MC_DB_PENDING_HI:
		mc->db_pending &= ~((uint64_t)value << 32);
		break;
	case NE1_MC_BOOT_STATE:
		if (!mc->reset_wanted)
			mc->boot_status = value & (NE1_BOOT_STATE_MASK | NE1_BOOT_ERROR_MASK);
		break;
	case NE1_MC_TIMER_LO:
		mc->timer_ns = (mc->timer_ns >> 32 << 32) | value;
		break;
	case NE1_MC_TIMER_HI:
		mc->timer_ns = (uint64_t)value << 32 | (uint32_t)mc->timer_ns;
		mc->timer_armed = true;
		break;
	case NE1_MC_WATCHDOG:
		arm_watchdog(mc, value);
		break;
	}
}

/* Accesses of an ASID's cores that began before may still use what was dropped: wait them out. */
static void as_control(struct sim_mc *mc, unsigned int asid, uint32_t value)
{
	bool used = false;

	mc->as[asid].ctrl = value & NE1_MC_AS_ENABLE;
	sim_mmu_set_asid(mc->parts.mmu, asid, mc->as[asid].pgd, value & NE1_MC_AS_ENABLE);
	for (unsigned int c = 0; c < mc->parts.chip->cores; c++)
		used |= sim_worker_uses(mc->worker[c], asid);
	if (used) {
		leave_window(mc);
		sim_dma_quiesce(mc->parts.dma);
	}
}

static bool as_access(struct sim_mc *mc, uint32_t offset, bool write, uint32_t *value)
{
	unsigned int asid = offset / 0x10;
	struct as_regs *as = mc->as + asid;

	if (asid >= mc->parts.chip->asids)
		return false;
	switch (offset % 0x10) {
	case 0x0:
		if (write)
			as->pgd = (as->pgd >> 32 << 32) | *value;
		else
			*value = (uint32_t)as->pgd;
		break;
	case 0x4:
		if (write)
			as->pgd = (uint64_t)*value << 32 | (uint32_t)as->pgd;
		else
			*value = as->pgd >> 32;
		break;
	case 0x8:
		if (write)
			as_control(mc, asid, *value);
		else
			*value = as->ctrl;
		break;
	}
	return true;
}

static bool core_access(struct sim_mc *mc, uint32_t offset, bool write, uint32_t *value)
{
	unsigned int c = offset / 0x100;

	if (c >= mc->parts.chip->cores)
		return false;
	if (write && offset % 0x100 == NE1_MC_CORE_CTRL)
		*value = sim_fi_core_control(mc->parts.faults, c, *value);
	if (write)
		sim_worker_write(mc->worker[c], offset % 0x100, *value);
	else
		*value = sim_worker_read(mc->worker[c], offset % 0x100);
	if (write && offset % 0x100 == NE1_MC_CORE_CTRL)
		sim_trace(mc->parts.trace, sim_soc_time_ns(mc->parts.soc), mc->parts.who,
			  "core%u ctrl=0x%x", c, *value);
	return true;
}

static bool ctrl_access(struct sim_mc *mc, uint32_t addr, bool write, uint32_t *value)
{
	if (write && addr == NE1_MC_HOST_IRQ) {
		sim_regs_raise(mc->parts.regs, *value);
		sim_trace(mc->parts.trace, sim_soc_time_ns(mc->parts.soc), mc->parts.who,
			  "host-irq bits=0x%x", *value);
		return true;
	}
	if (write && addr == NE1_MC_BOOT_STATE && sim_fi_boot_state(mc->parts.faults, *value))
		return true;
	pthread_mutex_lock(&mc->lock);
	if (write)
		ctrl_store(mc, addr, *value);
	else
		*value = ctrl_load(mc, addr);
	pthread_mutex_unlock(&mc->lock);
	if (write)
		rv32_yield(mc->cpu);	/* interrupt level, deadlines */
	return true;
}

/* Blocks of registers, each a page; their unlisted offsets read as zero. */
static bool register_access(struct sim_mc *mc, uint32_t addr, unsigned int size, bool write,
			    uint32_t *value)
{
	if (size != 4)
		return false;
	switch (addr & ~0xfffu) {
	case NE1_MC_CTRL:
		return ctrl_access(mc, addr, write, value);
	case NE1_MC_AS(0):
		return as_access(mc, addr - NE1_MC_AS(0), write, value);
	case NE1_MC_CORE(0):
		return core_access(mc, addr - NE1_MC_CORE(0), write, value);
	default:
		return false;
	}
}

static bool bus_load(void *ctx, uint32_t addr, unsigned int size, uint32_t *value)
{
	*value = 0;
	if (addr >= NE1_MC_WINDOW)
		return window_load(ctx, addr, size, value);
	return register_access(ctx, addr, size, false, value);
}

static bool bus_store(void *ctx, uint32_t addr, unsigned int size, uint32_t value)
{
	if (addr >= NE1_MC_WINDOW)
		return window_store(ctx, addr, size, value);
	return register_access(ctx, addr, size, true, &value);
}

/* ---- The thread ---- */

/* With the lock held.  Deadlines that have passed become interrupts. */
static void check_deadlines(struct sim_mc *mc, uint64_t now)
{
	if (mc->timer_armed && now >= mc->timer_ns) {
		mc->timer_armed = false;
		mc->irq_pending |= NE1_MC_IRQ_TIMER;
	}
	if (mc->watchdog_ms && now >= mc->watchdog_device_ns && host_ns() >= mc->watchdog_host_ns &&
	    !sim_fi_watchdog_held(mc->parts.faults)) {
		sim_log(SIM_LOG_WARN, mc->parts.who, "watchdog of %u ms expired at pc 0x%08x",
			mc->watchdog_ms, rv32_pc(mc->cpu));
		mc->watchdog_ms = 0;
		sim_regs_raise(mc->parts.regs, NE1_IRQ_FATAL);
	}
}

static bool cores_running(struct sim_mc *mc)
{
	bool running = false;

	for (unsigned int c = 0; c < mc->parts.chip->cores; c++)
		running |= sim_worker_running(mc->worker[c]);
	return running;
}

/* With the lock held: sleeps until woken or the next deadline is near. */
static void wait_for_event(struct sim_mc *mc, uint64_t now, bool jobs, bool held)
{
	uint64_t sleep_ns = sim_fi_sleep_ns(mc->parts.faults);
	struct timespec until;

	if (mc->running && mc->timer_armed && mc->timer_ns - now < sleep_ns)
		sleep_ns = mc->timer_ns - now;
	if (mc->running && mc->watchdog_ms) {
		uint64_t host = host_ns(), device_left, host_left;

		device_left = mc->watchdog_device_ns > now ? mc->watchdog_device_ns - now : 0;
		host_left = mc->watchdog_host_ns > host ? mc->watchdog_host_ns - host : 0;
		if (device_left < host_left)
			device_left = host_left;
		if (device_left < sleep_ns)
			sleep_ns = device_left;
	}
	if (mc->running && jobs && sleep_ns > WAIT_RUNNING_NS)
		sleep_ns = WAIT_RUNNING_NS;
	/* What held us may have ended since, and nobody tells when that ends. */
	if (held && sleep_ns > WAIT_HELD_NS)
		sleep_ns = WAIT_HELD_NS;
	if (sleep_ns == UINT64_MAX) {
		pthread_cond_wait(&mc->wake, &mc->lock);
		return;
	}
	if (sleep_ns < WAIT_MIN_NS)
		sleep_ns = WAIT_MIN_NS;
	if (sleep_ns > NS_PER_S)
		sleep_ns = NS_PER_S;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += sleep_ns % NS_PER_S;
	until.tv_sec += sleep_ns / NS_PER_S + until.tv_nsec / NS_PER_S;
	until.tv_nsec %= NS_PER_S;
	pthread_cond_timedwait(&mc->wake, &mc->lock, &until);
}

/* Whether a fault keeps a reset or a boot from going on. */
static bool held_back(struct sim_mc *mc, enum action action)
{
	return (action == ACT_RESET && sim_fi_reset_held(mc->parts.faults)) ||
	       (action == ACT_BOOT && sim_fi_boot_held(mc->parts.faults));
}

/* What to do next; for ACT_RUN with the level of the core's interrupt. */
static enum action next_action(struct sim_mc *mc, bool *irq)
{
	enum action action;

	pthread_mutex_lock(&mc->lock);
	for (;;) {
		uint64_t now = sim_soc_time_ns(mc->parts.soc);
		bool jobs = cores_running(mc), held;

		action = mc->quit ? ACT_QUIT : mc->reset_wanted ? ACT_RESET :
			 mc->boot_wanted ? ACT_BOOT : ACT_RUN;
		held = action == ACT_RUN ? sim_fi_held(mc->parts.faults) : held_back(mc, action);
		if (action != ACT_RUN && !held)
			break;
		if (mc->running)
			check_deadlines(mc, now);
		*irq = mc->irq_pending & mc->irq_enable;
		if (action == ACT_RUN && sim_fi_due(mc->parts.faults)) {
			action = ACT_FAULT;
			break;
		}
		if (action == ACT_RUN && mc->running && (!mc->waiting || *irq) && !held)
			break;
		wait_for_event(mc, now, jobs, held);
	}
	pthread_mutex_unlock(&mc->lock);
	return action;
}

static void set_boot_status(struct sim_mc *mc, uint32_t state, uint32_t error)
{
	pthread_mutex_lock(&mc->lock);
	if (!mc->reset_wanted)
		mc->boot_status = state | error << 8;
	pthread_mutex_unlock(&mc->lock);
	sim_log(SIM_LOG_INFO, mc->parts.who, "boot state %u error %u", state, error);
	sim_trace(mc->parts.trace, sim_soc_time_ns(mc->parts.soc), mc->parts.who,
		  "boot state=%u error=%u", state, error);
}

static void do_boot(struct sim_mc *mc)
{
	const struct ne1_fw_header *h = &mc->image->header;
	struct sim_boot boot;
	unsigned int err;

	pthread_mutex_lock(&mc->lock);
	mc->boot_wanted = false;
	boot = mc->boot;
	pthread_mutex_unlock(&mc->lock);

	set_boot_status(mc, NE1_BOOT_STATE_LOADING, NE1_BOOT_ERR_NONE);
	err = sim_bootrom_load(mc->parts.dma, boot.image, boot.image_size, mc->parts.fuses,
			       mc->image);
	err = sim_fi_boot_error(mc->parts.faults, err);
	if (err) {
		sim_log(SIM_LOG_WARN, mc->parts.who,
			"firmware image of %u bytes at 0x%" PRIx64 " refused: error %u",
			boot.image_size, boot.image, err);
		set_boot_status(mc, NE1_BOOT_STATE_FAILED, err);
		return;
	}
	rv32_reset(mc->cpu, h->load_addr, mc->image->payload, h->payload_size, h->entry);
	mc->as[0] = (struct as_regs) { .pgd = boot.pgd, .ctrl = NE1_MC_AS_ENABLE };
	sim_mmu_set_asid(mc->parts.mmu, 0, boot.pgd, true);
	set_boot_status(mc, NE1_BOOT_STATE_STARTED, NE1_BOOT_ERR_NONE);
	mc->running = true;
	mc->waiting = false;
}

static void do_reset(struct sim_mc *mc)
{
	mc->running = mc->waiting = false;
	sim_fi_reset_begin(mc->parts.faults);
	for (unsigned int c = 0; c < mc->parts.chip->cores; c++)
		sim_worker_reset(mc->worker[c]);
	sim_mmu_reset(mc->parts.mmu);
	memset(mc->as, 0, sizeof(mc->as));
	mc->timer_armed = false;
	mc->timer_ns = 0;
	mc->watchdog_ms = 0;

	/* Interrupts first: whoever reads RESET as 0 may start the next firmware. */
	sim_fi_reset_end(mc->parts.faults);
	sim_regs_reset_done(mc->parts.regs);
	pthread_mutex_lock(&mc->lock);
	mc->irq_enable = 0;
	mc->irq_pending &= NE1_MC_IRQ_DOORBELL | NE1_MC_IRQ_MBOX;
	mc->reset_wanted = false;
	if (mc->boot_wanted)
		mc->boot_status = NE1_BOOT_STATE_LOADING;
	pthread_mutex_unlock(&mc->lock);
	sim_trace(mc->parts.trace, sim_soc_time_ns(mc->parts.soc), mc->parts.who, "reset");
}

static void do_run(struct sim_mc *mc, bool irq)
{
	uint64_t start = sim_fi_slice_start(mc->parts.faults);
	enum rv32_exit exit = rv32_run(mc->cpu, SLICE, irq);

	leave_window(mc);
	sim_fi_slice_end(mc->parts.faults, start);
	mc->waiting = exit == RV32_WFI;
	if (exit != RV32_DOUBLE_FAULT)
		return;
	sim_log(SIM_LOG_WARN, mc->parts.who,
		"management core double fault at pc 0x%08x ra 0x%08x sp 0x%08x", rv32_pc(mc->cpu),
		rv32_reg(mc->cpu, 1), rv32_reg(mc->cpu, 2));
	mc->running = false;
	set_boot_status(mc, NE1_BOOT_STATE_PANIC, PANIC_DOUBLE_FAULT);
	sim_regs_raise(mc->parts.regs, NE1_IRQ_FATAL);
}

/* Faults that need this thread. */
static void do_fault(struct sim_mc *mc)
{
	if (sim_fi_crash(mc->parts.faults, mc->cpu))
		mc->waiting = false;
	sim_fi_work(mc->parts.faults, enter_window(mc));
	leave_window(mc);
}

static void *mc_main(void *arg)
{
	struct sim_mc *mc = arg;
	bool irq = false;

	for (;;) {
		switch (next_action(mc, &irq)) {
		case ACT_QUIT:
			return NULL;
		case ACT_RESET:
			do_reset(mc);
			break;
		case ACT_BOOT:
			do_boot(mc);
			break;
		case ACT_RUN:
			do_run(mc, irq);
			break;
		case ACT_FAULT:
			do_fault(mc);
			break;
		}
	}
}

/* ---- Life ---- */

static int new_workers(struct sim_mc *mc)
{
	const struct sim_worker_events events = {
		.left_running = core_left_running, .mmu_fault = core_mmu_fault, .ctx = mc,
	};

	for (unsigned int c = 0; c < mc->parts.chip->cores; c++) {
		mc->core_port[c] = sim_mmu_port_new(mc->parts.mmu);
		if (!mc->core_port[c])
			return ENOMEM;
		sim_mmu_port_set_faults(mc->core_port[c], mc->parts.faults);
		mc->worker[c] = sim_worker_new(mc->parts.chip, mc->parts.soc,
					       sim_mmu_port_mem(mc->core_port[c]),
					       mc->parts.threads, &events);
		if (!mc->worker[c])
			return errno;
		if (mc->parts.faults)
			sim_worker_set_hooks(mc->worker[c], &mc->hooks, c);
	}
	return 0;
}

static void free_parts(struct sim_mc *mc)
{
	for (unsigned int c = 0; c < NE1_MAX_CORES; c++) {
		sim_worker_free(mc->worker[c]);
		sim_mmu_port_free(mc->core_port[c]);
	}
	sim_mmu_port_free(mc->port);
	rv32_free(mc->cpu);
	free(mc->image);
	pthread_cond_destroy(&mc->wake);
	pthread_mutex_destroy(&mc->lock);
	free(mc);
}

struct sim_mc *sim_mc_new(const struct sim_mc_parts *parts)
{
	struct sim_mc *mc = calloc(1, sizeof(*mc));
	const struct rv32_bus bus = { .load = bus_load, .store = bus_store, .ctx = mc };
	pthread_condattr_t attr;
	int err;

	if (!mc)
		return NULL;
	mc->parts = *parts;
	mc->hooks = sim_fi_core_hooks(parts->faults);
	pthread_mutex_init(&mc->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&mc->wake, &attr);
	pthread_condattr_destroy(&attr);
	mc->cpu = rv32_new(&bus);
	mc->image = malloc(sizeof(*mc->image));
	mc->port = sim_mmu_port_new(parts->mmu);
	err = mc->cpu && mc->image && mc->port ? new_workers(mc) : ENOMEM;
	if (!err)
		err = pthread_create(&mc->thread, NULL, mc_main, mc);
	if (err) {
		free_parts(mc);
		errno = err;
		return NULL;
	}
	return mc;
}

void sim_mc_free(struct sim_mc *mc)
{
	if (!mc)
		return;
	pthread_mutex_lock(&mc->lock);
	mc->quit = true;
	pthread_cond_signal(&mc->wake);
	pthread_mutex_unlock(&mc->lock);
	pthread_join(mc->thread, NULL);
	free_parts(mc);
}
