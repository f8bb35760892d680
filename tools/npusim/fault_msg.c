// SPDX-License-Identifier: MIT
/*
 * Between firmware and the shared region.  Every store of firmware to the window passes here, so
 * that messages can be lost, doubled, held back or damaged, and results with them.
 *
 * The host's view of the event ring may run ahead of firmware's or lag behind it, by messages that
 * were added or lost.  The difference (delta) is added to the write index that firmware stores,
 * taken off the indices that it loads, and moves the slots that it fills: both sides keep seeing a
 * correct ring.
 *
 * All of this is the management core's thread, which has entered the window's memory.
 */
#include <stddef.h>
#include <string.h>

#include "fault_priv.h"
#include "log.h"
#include "regs.h"

#define NS_PER_MS	1000000ull
#define RETRY_NS	NS_PER_MS
#define ENTRIES_MAX	4096

#define CTL_READ	offsetof(struct ne1_ring_ctl, read)
#define DONE_LOW	offsetof(struct ne1_fw_queue, done_seqno)
#define DONE_HIGH	(DONE_LOW + 4)

/* ---- Words of the shared region ---- */

static uint32_t *word_at(struct sim_mem *mem, uint64_t va, bool write)
{
	enum ne1_mmu_code code;
	uint64_t len = 4;
	uint8_t *at = va % 4 ? NULL : mem->map(mem, 0, va, &len, write, &code);

	return at && len == 4 ? (uint32_t *)at : NULL;
}

/* 0 where nothing is mapped. */
static uint32_t load32(struct sim_mem *mem, uint64_t va)
{
	uint32_t *word = word_at(mem, va, false);

	return word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : 0;
}

static void store32(struct sim_mem *mem, uint64_t va, uint32_t value)
{
	uint32_t *word = word_at(mem, va, true);

	if (word)
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void load_words(struct sim_mem *mem, uint64_t va, void *buf, unsigned int size)
{
	for (unsigned int i = 0; i < size; i += 4) {
		uint32_t word = load32(mem, va + i);

		memcpy((uint8_t *)buf + i, &word, sizeof(word));
	}
}

static void store_words(struct sim_mem *mem, uint64_t va, const void *buf, unsigned int size)
{
	for (unsigned int i = 0; i < size; i += 4) {
		uint32_t word;

		memcpy(&word, (const uint8_t *)buf + i, sizeof(word));
		store32(mem, va + i, word);
	}
}

static bool within(uint64_t va, uint64_t start, uint64_t size)
{
	return va - start < size;
}

/* ---- Learning where things are ---- */

static bool fits(const struct ne1_fw_if *f, uint32_t offset, uint64_t size)
{
	return offset % 64 == 0 && offset + size <= f->size;
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1)) && n <= ENTRIES_MAX;
}

/* Firmware checks more; what is used here must not depend on that. */
static bool usable(const struct ne1_fw_if *f)
{
	return f->magic == NE1_FW_IF_MAGIC && power_of_two(f->cmd_entries) &&
	       power_of_two(f->evt_entries) && f->queue_count && f->queue_count <= NE1_MAX_QUEUES &&
	       fits(f, f->cmd_ctl, sizeof(struct ne1_ring_ctl)) &&
	       fits(f, f->evt_ctl, sizeof(struct ne1_ring_ctl)) &&
	       fits(f, f->log_ctl, sizeof(struct ne1_ring_ctl)) &&
	       fits(f, f->cmd_ring, f->cmd_entries * sizeof(struct ne1_msg)) &&
	       fits(f, f->evt_ring, f->evt_entries * sizeof(struct ne1_msg)) &&
	       fits(f, f->queue_table, f->queue_count * sizeof(struct ne1_fw_queue));
}

static void learn(struct sim_fi *fi, struct sim_mem *mem)
{
	struct ne1_fw_if f;

	memset(&f, 0, sizeof(f));
	load_words(mem, 0, &f, offsetof(struct ne1_fw_if, fw_abi_major));
	memset(&fi->msg, 0, sizeof(fi->msg));
	if (usable(&f))
		fi->msg.fw_write = load32(mem, f.evt_ctl);
	pthread_mutex_lock(&fi->lock);
	memset(fi->queue, 0, sizeof(fi->queue));
	fi->shared = (struct shared){
		.known = usable(&f), .size = f.size,
		.cmd_ctl = f.cmd_ctl, .cmd_ring = f.cmd_ring, .cmd_entries = f.cmd_entries,
		.evt_ctl = f.evt_ctl, .evt_ring = f.evt_ring, .evt_entries = f.evt_entries,
		.log_ctl = f.log_ctl, .queue_table = f.queue_table, .queue_count = f.queue_count,
	};
	pthread_mutex_unlock(&fi->lock);
}

void sim_fi_msg_reset(struct sim_fi *fi)
{
	memset(&fi->msg, 0, sizeof(fi->msg));
	pthread_mutex_lock(&fi->lock);
	fi->shared.known = false;
	fi->n_inserts = 0;
	memset(fi->queue, 0, sizeof(fi->queue));
	pthread_mutex_unlock(&fi->lock);
}

/* Firmware took the command before index @read. */
static void command_taken(struct sim_fi *fi, struct sim_mem *mem, uint32_t read)
{
	const struct shared *sh = &fi->shared;
	uint32_t slot = (read - 1) & (sh->cmd_entries - 1);
	struct ne1_msg msg;

	load_words(mem, sh->cmd_ring + slot * (uint64_t)sizeof(msg), &msg, sizeof(msg));
	fi->msg.id_of[msg.id % KNOWN_IDS] = msg.id;
	fi->msg.type_of[msg.id % KNOWN_IDS] = msg.type;
	if (msg.queue >= sh->queue_count)
		return;
	pthread_mutex_lock(&fi->lock);
	if (msg.type == NE1_CMD_QUEUE_CREATE)
		fi->queue[msg.queue] = (struct queue_info){
			.pgd = msg.create.pgd & NE1_PTE_ADDR, .ring = msg.create.ring,
			.results = msg.create.results,
			.entries = msg.create.entries <= ENTRIES_MAX ? msg.create.entries : 0,
			.vm = msg.create.vm_id,
		};
	if (msg.type == NE1_CMD_QUEUE_DESTROY)
		fi->queue[msg.queue].pgd = 0;
	pthread_mutex_unlock(&fi->lock);
}

/* ---- The event ring ---- */

static uint64_t event_slot(const struct shared *sh, uint32_t index)
{
	return sh->evt_ring + (index & (sh->evt_entries - 1)) * (uint64_t)sizeof(struct ne1_msg);
}

/* One more message of our own; false: no room. */
static bool append(struct sim_fi *fi, struct sim_mem *mem, const struct ne1_msg *msg, bool overrun)
{
	const struct shared *sh = &fi->shared;
	uint32_t at = fi->msg.fw_write + fi->msg.delta;

	if (!sh->known || (!overrun && at - load32(mem, sh->evt_ctl + CTL_READ) >= sh->evt_entries))
		return false;
	store_words(mem, event_slot(sh, at), msg, sizeof(*msg));
	fi->msg.delta++;
	store32(mem, sh->evt_ctl, at + 1);
	return true;
}

static bool hold_back(struct sim_fi *fi, const struct ne1_msg *msg, uint64_t ns, bool after_next)
{
	if (fi->msg.n_held == HELD_MAX)
		return false;
	fi->msg.held[fi->msg.n_held++] = (struct held){ .msg = *msg, .due_ns = sim_fi_now() + ns,
							.after_next = after_next };
	fi->msg.delta--;
	return true;
}

static void damage(struct sim_fi *fi, struct ne1_msg *msg, const struct sim_fi_shot *shot,
		   uint32_t *index)
{
	uint32_t value = shot->arg[2] == SIM_FI_ANY ? (uint32_t)shot->random[0] : shot->arg[2];
	uint64_t rng = shot->random[1];

	switch (shot->arg[1]) {
	case 0:
		for (unsigned int i = 0; i < sizeof(*msg) / 8; i++) {
			uint64_t word = sim_fi_random(&rng);

			memcpy((uint8_t *)msg + 8 * i, &word, sizeof(word));
		}
		break;
	case 1:
		msg->type = (uint16_t)value;
		break;
	case 2:
		msg->id = value;
		break;
	case 3:
		msg->queue = value;
		break;
	case 4:
		memcpy((uint8_t *)msg + 8, (uint8_t *)&fi->msg.last + 8, sizeof(*msg) - 8);
		break;
	case 5:
		*msg = fi->msg.last;
		break;
	case 6:
		*index += value;
		break;
	}
}

/*
 * Faults of one message that firmware publishes, by what happens to it.  False: it does not come
 * now.
 */
static bool pass_message(struct sim_fi *fi, struct ne1_msg *msg, uint32_t *index, bool *twice)
{
	bool known = fi->msg.id_of[msg->id % KNOWN_IDS] == msg->id;
	uint64_t command = known ? fi->msg.type_of[msg->id % KNOWN_IDS] : UINT32_MAX;
	const uint64_t key[SIM_FI_ARGS] = { command, msg->id };
	bool reply = msg->type == NE1_EVT_REPLY;
	struct sim_fi_shot shot;

	sim_fi_trigger(fi, NPUSIM_ON_EVENT, msg->type);
	if (reply && sim_fi_hit(fi, NPUSIM_REPLY_STATUS, &shot, key))
		msg->status = (uint16_t)shot.arg[1];
	if (sim_fi_hit(fi, NPUSIM_EVT_GARBAGE, &shot, SIM_FI_KEY(msg->type, msg->id)))
		damage(fi, msg, &shot, index);
	if (reply && sim_fi_hit(fi, NPUSIM_REPLY_LOST, &shot, key)) {
		fi->msg.delta--;
		return false;
	}
	if (reply && sim_fi_hit(fi, NPUSIM_REPLY_LATE, &shot, key) &&
	    hold_back(fi, msg, shot.duration_ns ? shot.duration_ns : 1000 * NS_PER_MS, false))
		return false;
	if (reply && sim_fi_hit(fi, NPUSIM_REPLY_REORDERED, &shot, key) &&
	    hold_back(fi, msg, shot.duration_ns ? shot.duration_ns : 100 * NS_PER_MS, true))
		return false;
	*twice = reply && sim_fi_hit(fi, NPUSIM_REPLY_DUPLICATED, &shot, key);
	return true;
}

/* Messages held back for the next one follow it. */
static void release_after(struct sim_fi *fi, struct sim_mem *mem)
{
	struct interposer *m = &fi->msg;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < m->n_held; i++)
		if (!m->held[i].after_next || !append(fi, mem, &m->held[i].msg, false))
			m->held[kept++] = m->held[i];
	m->n_held = kept;
}

/* Firmware's write index becomes @write.  Does the store itself. */
static bool publish(struct sim_fi *fi, struct sim_mem *mem, uint32_t write)
{
	const struct shared *sh = &fi->shared;
	struct interposer *m = &fi->msg;
	bool one = write - m->fw_write == 1, twice = false;
	uint64_t slot = event_slot(sh, write - 1 + m->delta);
	struct ne1_msg msg, sent;
	uint32_t wrong = 0;

	m->fw_write = write;
	if (!one) {
		store32(mem, sh->evt_ctl, write + m->delta);
		return true;
	}
	load_words(mem, slot, &msg, sizeof(msg));
	sent = msg;
	if (!pass_message(fi, &msg, &wrong, &twice))
		return true;
	if (memcmp(&msg, &sent, sizeof(msg)) != 0)
		store_words(mem, slot, &msg, sizeof(msg));
	m->last = sent;
	store32(mem, sh->evt_ctl, write + m->delta + wrong);
	release_after(fi, mem);
	if (twice && !append(fi, mem, &msg, false))
		sim_log(SIM_LOG_WARN, fi->parts.who, "no room for a second reply %u", msg.id);
	return true;
}

/* ---- Queues ---- */

/* done_seqno comes low half first, when results are in place. */
static bool done_low(struct sim_fi *fi, unsigned int q, uint32_t *value)
{
	struct interposer *m = &fi->msg;
	const uint64_t key[SIM_FI_ARGS] = { q, *value };
	struct sim_fi_shot shot;

	m->low[q] = *value;
	m->wrong[q] = 0;
	if (!*value) {			/* the queue is being made */
		m->done[q].held = false;
		return false;
	}
	sim_fi_trigger(fi, NPUSIM_ON_JOB_END, q);
	if (sim_fi_hit(fi, NPUSIM_DONE_WRONG, &shot, key))
		m->wrong[q] = shot.arg[1];
	*value += (uint32_t)m->wrong[q];
	if (m->done[q].held)
		return true;
	if (!sim_fi_hit(fi, NPUSIM_IRQ_EARLY, &shot, key))
		return false;
	m->done[q].held = true;
	m->done[q].value = 0;		/* not known before the high half */
	m->done[q].again = shot.arg[1];
	m->done[q].due_ns = sim_fi_now() + (shot.duration_ns ? shot.duration_ns : NS_PER_MS);
	sim_regs_raise(fi->parts.regs, NE1_IRQ_QUEUE);
	return true;
}

static void stray_write(struct sim_fi *fi, const struct sim_fi_shot *shot)
{
	struct later later = {
		.bus = shot->arg[1], .value = shot->arg[2],
		.due_ns = sim_fi_now() + (shot->duration_ns ? shot->duration_ns : NS_PER_MS),
		.asid = atomic_load(&fi->store_asid), .va = atomic_load(&fi->store_va),
	};

	sim_fi_later(fi, &later);
}

static bool done_high(struct sim_fi *fi, unsigned int q, uint32_t *value)
{
	struct interposer *m = &fi->msg;
	uint64_t seqno = (uint64_t)*value << 32 | m->low[q];
	struct sim_fi_shot shot;

	*value = (seqno + m->wrong[q]) >> 32;
	if (!seqno)
		return false;
	sim_fi_job_ended(fi, q, seqno);
	if (sim_fi_hit(fi, NPUSIM_STRAY_WRITE, &shot, SIM_FI_KEY(q, seqno)))
		stray_write(fi, &shot);
	if (!m->done[q].held)
		return false;
	m->done[q].value = seqno + m->wrong[q];
	return true;
}

static bool queue_store(struct sim_fi *fi, uint64_t offset, uint32_t *value)
{
	unsigned int q = offset / sizeof(struct ne1_fw_queue);

	switch (offset % sizeof(struct ne1_fw_queue)) {
	case DONE_LOW:
		return done_low(fi, q, value);
	case DONE_HIGH:
		return done_high(fi, q, value);
	case offsetof(struct ne1_fw_queue, preempted):
	case offsetof(struct ne1_fw_queue, run_seqno):
	case offsetof(struct ne1_fw_queue, run_seqno) + 4:
	case offsetof(struct ne1_fw_queue, on_core):
		return fi->msg.minor < 1;	/* padding until then */
	default:
		return false;
	}
}

static void result_store(struct sim_fi *fi, uint64_t va, uint32_t *value)
{
	const uint64_t size = sizeof(struct ne1_job_result);
	struct sim_fi_shot shot;

	for (unsigned int q = 0; q < fi->shared.queue_count; q++) {
		const struct queue_info *info = &fi->queue[q];

		if (!info->pgd || !within(va, info->results, info->entries * size) ||
		    (va - info->results) % size != offsetof(struct ne1_job_result, fault))
			continue;
		if (sim_fi_hit(fi, NPUSIM_RESULT_STATUS, &shot, SIM_FI_KEY(q)))
			*value = (uint32_t)shot.arg[1];
		return;
	}
}

/* ---- Stores and loads ---- */

static void abi_store(struct sim_fi *fi, struct sim_mem *mem, uint32_t *value)
{
	struct sim_fi_shot shot;

	learn(fi, mem);
	if (sim_fi_hit(fi, NPUSIM_BOOT_ABI, &shot, SIM_FI_KEY(*value)))
		*value = (uint32_t)(shot.arg[0] | shot.arg[1] << 16);
	fi->msg.minor = *value >> 16;
}

bool sim_fi_store(struct sim_fi *fi, struct sim_mem *mem, uint64_t *va, unsigned int size,
		  uint32_t *value)
{
	const struct shared *sh = fi ? &fi->shared : NULL;

	if (!fi || size != 4)
		return false;
	if (*va == offsetof(struct ne1_fw_if, fw_abi_major))
		abi_store(fi, mem, value);
	if (!sh->known)
		return false;
	if (*va == offsetof(struct ne1_fw_if, heartbeat))
		return sim_fi_hit(fi, NPUSIM_HEARTBEAT_STUCK, NULL, SIM_FI_KEY(*value));
	if (*va == sh->evt_ctl)
		return publish(fi, mem, *value);
	if (within(*va, sh->evt_ring, sh->evt_entries * (uint64_t)sizeof(struct ne1_msg))) {
		uint32_t bytes = sh->evt_entries * sizeof(struct ne1_msg);

		*va = sh->evt_ring + ((uint32_t)(*va - sh->evt_ring) +
				      fi->msg.delta * (uint32_t)sizeof(struct ne1_msg)) % bytes;
		return false;
	}
	if (*va == sh->cmd_ctl + CTL_READ)
		command_taken(fi, mem, *value);
	if (within(*va, sh->queue_table, sh->queue_count * (uint64_t)sizeof(struct ne1_fw_queue)))
		return queue_store(fi, *va - sh->queue_table, value);
	if (atomic_load_explicit(&fi->fast.armed[NPUSIM_RESULT_STATUS], memory_order_relaxed))
		result_store(fi, *va, value);
	return false;
}

/* A command of a later ABI than firmware says it speaks becomes one that nobody knows. */
static void command_loaded(const struct sim_fi *fi, uint64_t offset, uint32_t *value)
{
	unsigned int since = 0;

	if (offset % sizeof(struct ne1_msg) != offsetof(struct ne1_msg, type))
		return;
	if ((uint16_t)*value == NE1_CMD_COUNTERS)
		since = 1;
	if ((uint16_t)*value == NE1_CMD_HOLD)
		since = 2;
	if (fi->msg.minor < since)
		*value |= UINT16_MAX;
}

void sim_fi_loaded(struct sim_fi *fi, uint64_t va, uint32_t *value)
{
	const struct shared *sh = fi ? &fi->shared : NULL;
	uint32_t ahead;

	if (!fi || !sh->known)
		return;
	if (within(va, sh->cmd_ring, sh->cmd_entries * (uint64_t)sizeof(struct ne1_msg)))
		command_loaded(fi, va - sh->cmd_ring, value);
	if (!fi->msg.delta)
		return;
	if (va == sh->evt_ctl)
		*value -= fi->msg.delta;
	if (va != sh->evt_ctl + CTL_READ)
		return;
	*value -= fi->msg.delta;
	/* A flood has overrun the host: to firmware the ring is full, not broken. */
	ahead = fi->msg.fw_write - *value;
	if (ahead > sh->evt_entries && ahead < UINT32_MAX / 2)
		*value = fi->msg.fw_write - sh->evt_entries;
}

/* ---- Work that comes due ---- */

static uint64_t next_due(const struct sim_fi *fi)
{
	const struct interposer *m = &fi->msg;
	uint64_t due = UINT64_MAX;

	for (unsigned int i = 0; i < m->n_held; i++)
		if (m->held[i].due_ns < due)
			due = m->held[i].due_ns;
	for (unsigned int q = 0; q < NE1_MAX_QUEUES; q++)
		if (m->done[q].held && m->done[q].due_ns < due)
			due = m->done[q].due_ns;
	return due;
}

uint64_t sim_fi_msg_due(struct sim_fi *fi)
{
	bool inserts;

	if (!fi->shared.known)
		return UINT64_MAX;
	pthread_mutex_lock(&fi->lock);
	inserts = fi->n_inserts;
	pthread_mutex_unlock(&fi->lock);
	return inserts ? 0 : next_due(fi);
}

static void put_inserts(struct sim_fi *fi, struct sim_mem *mem)
{
	struct insert insert[INSERTS_MAX];
	unsigned int n;

	pthread_mutex_lock(&fi->lock);
	n = fi->n_inserts;
	memcpy(insert, fi->insert, sizeof(insert));
	fi->n_inserts = 0;
	pthread_mutex_unlock(&fi->lock);
	for (unsigned int i = 0; i < n; i++) {
		for (uint32_t k = 0; k < insert[i].count; k++)
			if (!append(fi, mem, &insert[i].msg, insert[i].overrun))
				break;
		sim_regs_raise(fi->parts.regs, NE1_IRQ_EVENT);
	}
}

static void put_held(struct sim_fi *fi, struct sim_mem *mem, uint64_t now)
{
	struct interposer *m = &fi->msg;
	unsigned int kept = 0;
	bool any = false;

	for (unsigned int i = 0; i < m->n_held; i++) {
		if (now >= m->held[i].due_ns) {
			if (append(fi, mem, &m->held[i].msg, false)) {
				any = true;
				continue;
			}
			m->held[i].due_ns = now + RETRY_NS;
		}
		m->held[kept++] = m->held[i];
	}
	m->n_held = kept;
	if (any)
		sim_regs_raise(fi->parts.regs, NE1_IRQ_EVENT);
}

static void put_done(struct sim_fi *fi, struct sim_mem *mem, uint64_t now)
{
	for (unsigned int q = 0; q < fi->shared.queue_count; q++) {
		uint64_t line = fi->shared.queue_table + q * (uint64_t)sizeof(struct ne1_fw_queue);

		if (!fi->msg.done[q].held || !fi->msg.done[q].value ||
		    now < fi->msg.done[q].due_ns)
			continue;
		fi->msg.done[q].held = false;
		store32(mem, line + DONE_LOW, (uint32_t)fi->msg.done[q].value);
		store32(mem, line + DONE_HIGH, fi->msg.done[q].value >> 32);
		if (fi->msg.done[q].again)
			sim_regs_raise(fi->parts.regs, NE1_IRQ_QUEUE);
	}
}

void sim_fi_work(struct sim_fi *fi, struct sim_mem *mem)
{
	uint64_t now = sim_fi_now();

	if (!fi->shared.known)
		return;
	put_inserts(fi, mem);
	put_held(fi, mem, now);
	put_done(fi, mem, now);
}
