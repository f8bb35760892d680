// SPDX-License-Identifier: MIT
/* Boot handshake, refusals, broken rings, heartbeat: what the host sees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "firmware/panic.h"
#include "firmware/version.h"
#include "host.h"

static void boots(void **state)
{
	const struct ne1_fw_if *fwif;

	(void)state;
	shim_reset();
	host_layout();
	host_queue(3)->state = 77;
	assert_true(shim_boot());
	fwif = host_if();
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_READY);
	assert_int_equal(shim.host_irq, NE1_IRQ_EVENT);
	assert_int_equal(fwif->fw_abi_major, NE1_ABI_MAJOR);
	assert_int_equal(fwif->fw_abi_minor, NE1_ABI_MINOR);
	assert_int_equal(fwif->fw_version, FW_VERSION);
	assert_int_equal(fwif->fw_state, NE1_FW_RUNNING);
	assert_int_equal(host_queue(3)->state, NE1_QUEUE_FREE);
	assert_non_null(strstr(host_log(), "ne1 firmware 1.2.0, ABI 1.2, 2 cores, 16 ASIDs\n"));
	assert_int_equal(shim.violations, 0);
}

/* One field of struct ne1_fw_if, what to write there, and the panic that must follow (0: boots). */
struct refusal {
	const char *name;
	size_t offset;
	unsigned int size;
	uint32_t value;
	unsigned int code;
};

#define FIELD(f)	#f, offsetof(struct ne1_fw_if, f), sizeof(((struct ne1_fw_if *)0)->f)

static const struct refusal refusals[] = {
	{ FIELD(magic), 0x12345678, PANIC_IF_MAGIC },
	{ FIELD(abi_major), NE1_ABI_MAJOR + 1, PANIC_IF_ABI },
	{ FIELD(abi_major), 0, PANIC_IF_ABI },
	{ FIELD(abi_minor), NE1_ABI_MINOR + 7, 0 },
	{ FIELD(size), 0, PANIC_IF_SIZE },
	{ FIELD(size), 252, PANIC_IF_SIZE },
	{ FIELD(size), 0x80000001, PANIC_IF_SIZE },
	{ FIELD(size), 0xffffffff, PANIC_IF_SIZE },
	{ FIELD(size), 256, PANIC_IF_CMD },
	{ FIELD(cmd_ctl), 0x408, PANIC_IF_CMD },
	{ FIELD(cmd_ctl), SHIM_MEMORY - 64, PANIC_IF_CMD },
	{ FIELD(cmd_ctl), 0, PANIC_IF_OVERLAP },
	{ FIELD(cmd_ctl), 0x480, PANIC_IF_OVERLAP },
	{ FIELD(cmd_ring), 0xffffffc0, PANIC_IF_CMD },
	{ FIELD(cmd_ring), 0x1004, PANIC_IF_CMD },
	{ FIELD(cmd_ring), 0x2000, PANIC_IF_OVERLAP },
	{ FIELD(cmd_entries), 0, PANIC_IF_CMD },
	{ FIELD(cmd_entries), 12, PANIC_IF_CMD },
	{ FIELD(cmd_entries), 0x80000000, PANIC_IF_CMD },
	{ FIELD(cmd_entries), 8192, PANIC_IF_CMD },
	{ FIELD(evt_ctl), 0x4a0, PANIC_IF_EVT },
	{ FIELD(evt_ctl), 0x80000000, PANIC_IF_EVT },
	{ FIELD(evt_ring), SHIM_MEMORY - 64, PANIC_IF_EVT },
	{ FIELD(evt_entries), 0, PANIC_IF_EVT },
	{ FIELD(evt_entries), 17, PANIC_IF_EVT },
	{ FIELD(log_ctl), 0x504, PANIC_IF_LOG },
	{ FIELD(log_ring), SHIM_MEMORY - HOST_LOG + 64, PANIC_IF_LOG },
	{ FIELD(log_ring), 0x5040, PANIC_IF_OVERLAP },
	{ FIELD(log_size), 0, PANIC_IF_LOG },
	{ FIELD(log_size), 32, PANIC_IF_LOG },
	{ FIELD(log_size), 4095, PANIC_IF_LOG },
	{ FIELD(log_size), 0x80000000, PANIC_IF_LOG },
	{ FIELD(log_level), NE1_LOG_DEBUG + 1, PANIC_IF_LOG },
	{ FIELD(queue_table), 0x6001, PANIC_IF_QUEUES },
	{ FIELD(queue_table), SHIM_MEMORY - 128, PANIC_IF_QUEUES },
	{ FIELD(queue_count), 0, PANIC_IF_QUEUES },
	{ FIELD(counter_table), 0, 0 },
	{ FIELD(counter_table), HOST_COUNTERS + 8, PANIC_IF_QUEUES },
	{ FIELD(counter_table), SHIM_MEMORY - 128, PANIC_IF_QUEUES },
	{ FIELD(counter_table), 0xffffffc0, PANIC_IF_QUEUES },
	{ FIELD(counter_table), HOST_TABLE, PANIC_IF_OVERLAP },
	{ FIELD(queue_count), NE1_MAX_QUEUES + 1, PANIC_IF_QUEUES },
	{ FIELD(queue_count), NE1_MAX_QUEUES, 0 },
};

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];

		shim_reset();
		host_layout();
		memcpy(shim.memory + r->offset, &r->value, r->size);
		if (shim_boot() != !r->code)
			fail_msg("%s = 0x%x: wrong outcome", r->name, r->value);
		if (!r->code)
			continue;
		if (shim.boot_state != (NE1_BOOT_STATE_PANIC | r->code << 8))
			fail_msg("%s = 0x%x: state 0x%x", r->name, r->value, shim.boot_state);
		assert_int_equal(shim.host_irq, NE1_IRQ_FATAL | NE1_IRQ_EVENT);
		assert_int_equal(host_if()->fw_state, 0);
		assert_int_equal(shim.win_writes, 0);
		assert_int_equal(shim.violations, 0);
	}
}

static void refuses_chip(void **state)
{
	static const uint32_t caps[][2] = { { 0, 16 }, { 5, 16 }, { 1, 1 }, { 1, 17 }, { 1, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		shim_reset();
		host_layout();
		shim.cap_cores = caps[i][0];
		shim.cap_asids = caps[i][1];
		assert_false(shim_boot());
		assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_CHIP << 8);
	}
}

/* The region of a host that does not map what it describes. */
static void unmapped_region(void **state)
{
	(void)state;
	shim_reset();
	host_layout();
	host_if()->size = SHIM_MEMORY * 2;
	host_if()->queue_table = SHIM_MEMORY;
	assert_false(shim_boot());
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_TRAP << 8);
	assert_int_equal(host_if()->fw_state, NE1_FW_DEAD);
}

/* Even what a panic writes may trap: the host still gets state and interrupt. */
static void panic_without_memory(void **state)
{
	(void)state;
	shim_reset();
	host_layout();
	host_if()->size = SHIM_MEMORY * 2;
	host_if()->evt_ctl = SHIM_MEMORY + 0x1000;
	assert_false(shim_boot());
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_TRAP << 8);
	assert_true(shim.host_irq & NE1_IRQ_FATAL);
}

static struct ne1_msg last_event(void)
{
	struct ne1_msg msg = { .type = 0 };

	while (host_event(&msg))
		;
	return msg;
}

static void command_index_corrupt(void **state)
{
	(void)state;
	host_boot();
	host_ctl(host_if()->cmd_ctl)->write = HOST_COMMANDS + 1;
	host_ring();
	assert_true(shim.halted);
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_CMD_INDEX << 8);
	assert_int_equal(last_event().panic.addr, HOST_COMMANDS + 1);
}

static void event_index_corrupt(void **state)
{
	struct ne1_msg msg = { .type = NE1_CMD_PING };

	(void)state;
	host_boot();
	host_ctl(host_if()->evt_ctl)->read = 1;
	host_push(&msg);
	host_ring();
	assert_true(shim.halted);
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_EVT_INDEX << 8);
	assert_true(shim.host_irq & NE1_IRQ_FATAL);
}

/* A full ring of commands is legal, and so are indices that wrap. */
static void rings_wrap(void **state)
{
	struct ne1_msg ping = { .type = NE1_CMD_PING }, reply;
	uint32_t first;

	(void)state;
	shim_reset();
	host_layout();
	host_ctl(host_if()->cmd_ctl)->write = 0xfffffffa;
	host_ctl(host_if()->cmd_ctl)->read = 0xfffffffa;
	host_ctl(host_if()->evt_ctl)->write = 0xfffffff3;
	host_ctl(host_if()->evt_ctl)->read = 0xfffffff3;
	assert_true(shim_boot());
	for (unsigned int round = 0; round < 5; round++) {
		first = host_push(&ping);
		for (unsigned int i = 1; i < HOST_COMMANDS; i++)
			host_push(&ping);
		host_ring();
		for (unsigned int i = 0; i < HOST_COMMANDS; i++) {
			assert_true(host_event(&reply));
			assert_int_equal(reply.id, first + i);
			assert_int_equal(reply.status, NE1_MSG_OK);
		}
		assert_false(host_event(&reply));
	}
}

static void heartbeat_beats(void **state)
{
	uint32_t beat = 0;

	(void)state;
	host_boot();
	for (unsigned int i = 0; i < 20; i++) {
		shim.watchdog = 0;
		shim_pass(NE1_HEARTBEAT_MS * 1000000ull);
		assert_true(shim_run());
		assert_true(host_if()->heartbeat > beat);
		beat = host_if()->heartbeat;
		assert_true(shim.watchdog > NE1_HEARTBEAT_MS);
		assert_true(shim.timer_ns > shim.time_ns);
		assert_true(shim.timer_ns - shim.time_ns < NE1_HEARTBEAT_MS * 1000000ull);
	}
	/* One beat after a leap of device time, not a burst. */
	shim_pass(5000000000ull);
	shim_run();
	assert_int_equal(host_if()->heartbeat, beat + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boots),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_chip),
		cmocka_unit_test(unmapped_region),
		cmocka_unit_test(panic_without_memory),
		cmocka_unit_test(command_index_corrupt),
		cmocka_unit_test(event_index_corrupt),
		cmocka_unit_test(rings_wrap),
		cmocka_unit_test(heartbeat_beats),
	};

	return cmocka_run_group_tests_name("firmware handshake", tests, NULL, NULL);
}
