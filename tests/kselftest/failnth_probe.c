// SPDX-License-Identifier: GPL-2.0
/*
 * Probing, with a site that fails (see failnth.h): it works, or is not bound; afterwards the driver can be unbound, nothing
 * of it is left, and it can be bound again.  A probe has many sites, so a run takes NPU_PROBE_TRIES (default 100) of them at equal distances,
 * each run beginning with another.
 */
#include "kselftest_harness.h"
#include "failnth.h"

FIXTURE(probe) {
	char slot[64];
	int control;
};

FIXTURE_SETUP(probe)
{
	if (npu_slot(self->slot, sizeof(self->slot)))
		SKIP(return, "no npuedge device");
	self->control = nth_open();
	if (self->control < 0)
		SKIP(return, "the kernel cannot fail the n-th allocation");
	nth_spare_minor();
}

FIXTURE_TEARDOWN(probe)
{
	char slot[64];

	if (npu_slot(slot, sizeof(slot)))
		npu_bind(self->slot);
	if (self->control > 0)
		close(self->control);
}

static bool text_has(const char *path, const char *word)
{
	char *text = npu_read_file(path, NULL);
	bool has = text && strstr(text, word);

	free(text);
	return has;
}

static bool exists(const char *pattern)
{
	char path[256];

	return !npu_glob(pattern, path, sizeof(path));
}

/* What is left of a driver that is not bound; NULL: nothing. */
static const char *left_behind(void)
{
	char *refs = npu_read_file("/sys/module/npuedge/refcnt", NULL);
	bool used = refs && atoi(refs);

	free(refs);
	if (used)
		return "a reference to the module";
	if (exists("/dev/accel/accel*"))
		return "a device node";
	if (exists("/sys/kernel/debug/accel/*"))
		return "a debugfs folder";
	if (exists("/sys/bus/platform/devices/npuedge*"))
		return "a platform device";
	if (text_has("/proc/interrupts", "npuedge"))
		return "an interrupt handler";
	if (text_has("/proc/iomem", "npuedge"))
		return "a register range";
	return NULL;
}

/*
 * Binds with site @n failing, unbinds; sets *left to what was left of n.  A driver that is bound all the same works: it
 * may do without what it did not get.
 */
static const char *try_probe(int control, const char *slot, int n, int *left)
{
	const char *rest = NULL;

	if (nth_arm(control, n))
		return "no control file";
	/* of a PCI function this succeeds, whatever the driver of its child does */
	npu_bind(slot);
	*left = nth_disarm(control);
	if (exists("/dev/accel/accel*") && npu_device_works())
		return "a device that does not work";
	npu_unbind(slot);
	/* the last reference may be a worker's */
	for (int i = 0; i < 500 * npu_slowness(); i++) {
		rest = left_behind();
		if (!rest)
			return NULL;
		usleep(10000);
	}
	return rest;
}

TEST_F_TIMEOUT(probe, sites, 2000)
{
	const char *tries = getenv("NPU_PROBE_TRIES"), *rest;
	int left, sites, step, done = 0, first;

	ASSERT_EQ(0, npu_unbind(self->slot));
	rest = try_probe(self->control, self->slot, NTH_MOST, &left);
	ASSERT_EQ(NULL, rest) {
		TH_LOG("left: %s", rest);
	}
	ASSERT_GT(left, 1);
	sites = NTH_MOST - left;
	ASSERT_GT(sites, 100);
	step = 1 + sites / (tries ? atoi(tries) : 100);
	first = 1 + npu_deadline(0) / 1000 % step;
	TH_LOG("%d sites, of which %d and each %d. one after", sites, first, step);
	for (int n = first; n <= sites; n += step) {
		rest = try_probe(self->control, self->slot, n, &left);
		EXPECT_EQ(NULL, rest) {
			TH_LOG("after site %d is left: %s", n, rest);
		}
		done++;
	}
	TH_LOG("%d tries", done);
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
