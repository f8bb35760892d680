// SPDX-License-Identifier: MIT
/* Parts that are called directly: traps, stack guard, log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "firmware/log.h"
#include "firmware/panic.h"
#include "host.h"

static struct ne1_msg last_event(void)
{
	struct ne1_msg msg = { .type = 0 };

	while (host_event(&msg))
		;
	return msg;
}

static void trap_is_reported(void **state)
{
	struct ne1_msg msg;

	(void)state;
	host_boot();
	host_create(0, 1, NE1_PRIO_NORMAL);
	host_submit(0, 2);
	if (!setjmp(shim.halt))
		panic_trap(2, 0x10000123, 0x55);
	msg = last_event();
	assert_true(shim.halted);
	assert_int_equal(msg.type, NE1_EVT_PANIC);
	assert_int_equal(msg.panic.code, PANIC_TRAP);
	assert_int_equal(msg.panic.pc, 0x10000123);
	assert_int_equal(msg.panic.addr, 0x55);
	assert_int_equal(msg.id, 0);
	assert_int_equal(host_if()->fw_state, NE1_FW_DEAD);
	assert_int_equal(shim.watchdog, 0);
	assert_true(shim.cores[0].stop && shim.cores[1].stop);
	assert_non_null(strstr(host_log(), "E trap: cause 2 pc 10000123 addr 55\n"));
}

static void stack_overflow_is_found(void **state)
{
	(void)state;
	host_boot();
	shim.stack_broken = true;
	shim_pass(NE1_HEARTBEAT_MS * 1000000ull);
	assert_false(shim_run());
	assert_int_equal(shim.boot_state, NE1_BOOT_STATE_PANIC | PANIC_STACK << 8);
}

static void log_formats(void **state)
{
	(void)state;
	host_boot();
	shim.time_ns = 12003004999ull;
	log_printf(NE1_LOG_WARN, "%u %u %x %s %llx 100%%", 0u, 4294967295u, 0xbeefu, "text",
		   0x123456789abcull);
	assert_non_null(strstr(host_log(),
			       "\n12.003004 W 0 4294967295 beef text 123456789abc 100%\n"));
}

static void log_levels(void **state)
{
	uint32_t before;

	(void)state;
	host_boot();
	before = host_ctl(host_if()->log_ctl)->write;
	log_printf(NE1_LOG_DEBUG, "not seen");
	assert_int_equal(host_ctl(host_if()->log_ctl)->write, before);
	assert_int_equal(host_simple(NE1_CMD_LOG_LEVEL, NE1_LOG_DEBUG), NE1_MSG_OK);
	log_printf(NE1_LOG_DEBUG, "seen");
	assert_non_null(strstr(host_log(), "D seen\n"));
	assert_int_equal(host_simple(NE1_CMD_LOG_LEVEL, NE1_LOG_ERROR), NE1_MSG_OK);
	before = host_ctl(host_if()->log_ctl)->write;
	log_printf(NE1_LOG_WARN, "not seen");
	assert_int_equal(host_ctl(host_if()->log_ctl)->write, before);
}

/* The ring wraps many times; lines stay whole, long ones are cut, nothing outside is written. */
static void log_wraps(void **state)
{
	char longer[300];
	uint8_t before[64], after[64];
	const char *text;
	uint32_t total;

	(void)state;
	host_boot();
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	memcpy(before, shim.memory + host_if()->log_ring - 64, 64);
	memcpy(after, shim.memory + host_if()->log_ring + HOST_LOG, 64);
	for (unsigned int i = 0; i < 500; i++)
		log_printf(NE1_LOG_ERROR, "line %u %s", i, i % 3 ? "short" : longer);
	total = host_ctl(host_if()->log_ctl)->write;
	assert_true(total > 5 * HOST_LOG);
	text = host_log();
	assert_int_equal(strlen(text), HOST_LOG);
	assert_non_null(strstr(text, "E line 499 short\n"));
	for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1)
		assert_true(strchr(line, '\n') - line < LOG_LINE_MAX);
	assert_memory_equal(before, shim.memory + host_if()->log_ring - 64, 64);
	assert_memory_equal(after, shim.memory + host_if()->log_ring + HOST_LOG, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trap_is_reported),
		cmocka_unit_test(stack_overflow_is_found),
		cmocka_unit_test(log_formats),
		cmocka_unit_test(log_levels),
		cmocka_unit_test(log_wraps),
	};

	return cmocka_run_group_tests_name("firmware parts", tests, NULL, NULL);
}
