// SPDX-License-Identifier: GPL-2.0
/*
 * A device of the device tree: bound by its compatible string, with wires that are up for as long as a cause is
 * pending.  NPU_SOC: the parameters of npuedge_soc.ko, which makes such a device (tests/guest/soc).
 */
#include "kselftest_harness.h"
#include "debugfs.h"
#include "interrupts.h"

#define POWER_CONTROL	"/sys/class/accel/accel0/device/power/control"
#define BAD_VA	(NPU_VA + 0x40000000ull)

FIXTURE(soc) {
	struct npu_client c;
	bool shared;
};

FIXTURE_SETUP(soc)
{
	const char *parameters = getenv("NPU_SOC");
	int ret;

	/* most guests have a PCI function; with NPU_SOC tests/run takes a skip for a failure */
	if (!parameters)
		SKIP(return, "the device is not one of the device tree");
	self->shared = strstr(parameters, "lines=1");
	/* asleep it has its wires down */
	ASSERT_EQ(0, npu_write_text(POWER_CONTROL, "on"));
	ret = npu_client_init(&self->c);
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(soc)
{
	npu_write_text(POWER_CONTROL, "auto");
	npu_client_fini(&self->c);
	npu_dumps_clear();
}

TEST_F(soc, binds_by_its_compatible_string)
{
	char *compatible = npu_read_file("/sys/class/accel/accel0/device/of_node/compatible", NULL);
	bool coherent = !access("/sys/class/accel/accel0/device/of_node/dma-coherent", F_OK);

	EXPECT_STREQ("npuedge,ne1", compatible ?: "no node");
	EXPECT_EQ(!!strstr(getenv("NPU_SOC"), "coherent=1"), coherent);
	free(compatible);
}

TEST_F(soc, each_cause_has_its_wire)
{
	static const char *const names[] = { "queue", "event", "mmu", "fatal" };
	unsigned long sum;
	char name[32];

	ASSERT_EQ(self->shared, npu_irq_shared());
	for (unsigned int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "npuedge-%s", names[i]);
		EXPECT_EQ(self->shared ? 0u : 1u, npu_irq_lines(name, &sum));
	}
}

/* One that stays up is served for ever, as what is looked at every few milliseconds is the level. */
TEST_F(soc, a_wire_goes_down_when_its_cause_was_seen)
{
	unsigned long before = npu_interrupts("queue"), after, now;

	for (unsigned int i = 0; i < 50; i++)
		ASSERT_EQ(0, npu_copy_word(&self->c, i));
	after = npu_interrupts("queue");
	EXPECT_GT(after, before);
	usleep(300000 * npu_slowness());
	now = npu_interrupts("queue");
	usleep(300000 * npu_slowness());
	EXPECT_EQ(now, npu_interrupts("queue"));
}

TEST_F(soc, a_fault_comes_by_its_wire)
{
	unsigned long before = npu_interrupts("mmu"), now;

	EXPECT_EQ(-EIO, npu_copy(&self->c, BAD_VA, NPU_VA, 4));
	for (int i = 0; i < 200 * npu_slowness() && npu_interrupts("mmu") <= before; i++)
		usleep(5000);
	EXPECT_GT(npu_interrupts("mmu"), before);
	usleep(300000 * npu_slowness());
	now = npu_interrupts("mmu");
	usleep(300000 * npu_slowness());
	EXPECT_EQ(now, npu_interrupts("mmu"));
}

TEST_HARNESS_MAIN
