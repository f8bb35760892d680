// SPDX-License-Identifier: GPL-2.0
/*
 * What the bus does to the device: it resets the function, removes it and finds it again, and has errors that the
 * kernel's aer_inject makes up, whoever uses it meanwhile.  On a platform device, or one whose function cannot be reset,
 * the tests skip.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include <linux/pci_regs.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"
#include "inject.h"
#include "uevent.h"

#define PLAT_DRIVER	"/sys/bus/platform/drivers/npuedge"
#define LOAD_THREADS	2

FIXTURE(pci) {
	struct npu_client a, b;
	char slot[64], reset[128];
};

FIXTURE_SETUP(pci)
{
	int ret = npu_client_init(&self->a);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	if (npu_slot(self->slot, sizeof(self->slot)))
		SKIP(return, "not a PCI function");
	snprintf(self->reset, sizeof(self->reset), "/sys/bus/pci/devices/%s/reset", self->slot);
	if (access(self->reset, W_OK))
		SKIP(return, "the function cannot be reset, or not by us");
	ASSERT_EQ(0, npu_client_init(&self->b));
}

FIXTURE_TEARDOWN(pci)
{
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_dumps_clear();
}

static int submit(struct npu_client *c, uint32_t size, uint32_t flags)
{
	return npu_submit_flags(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync, flags);
}

static int result(struct npu_client *c)
{
	int ret = npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS);

	return ret ? ret : npu_sync_status(c->fd, c->sync);
}

static uint32_t state_of(struct npu_client *c)
{
	struct drm_npuedge_queue_get_state state = { .id = c->queue };
	int ret = npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state);

	return ret ? UINT32_MAX : state.state;
}

/*
 * A job that ends soon may; one that waits runs afterwards; user space hears of it.  For three seconds: if a busy machine
 * needs ten times longer than it did before, once more.
 */
TEST_F_TIMEOUT(pci, reset_is_waited_for_and_costs_nothing, 240)
{
	struct npu_client *a = &self->a, *b = &self->b;
	int events = npu_uevent_open(), status = 0;

	ASSERT_GE(events, 0);
	for (int i = 0; i < 4 && status != 1; i++) {
		long long before = npu_knob_number("reset");

		ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 300)), 0));
		ASSERT_TRUE(npu_job_runs());
		b->data[0] = 0x4444 + i;
		npu_copy_stream(b->stream, 1, 4);
		ASSERT_EQ(0, submit(b, 192, 0));
		ASSERT_EQ(0, npu_write_text(self->reset, "1"));
		status = result(a);
		EXPECT_EQ(1, result(b));
		EXPECT_EQ(0x4444 + i, b->data[1]);
		EXPECT_EQ(before + 1, npu_knob_number("reset"));
		EXPECT_TRUE(npu_uevent_wait(events, "WEDGED=none"));
		if (status != 1)
			npu_new_queue(a);
	}
	EXPECT_EQ(1, status);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, state_of(a));
	close(events);
	EXPECT_EQ(0, npu_device_works());
}

/* One that would take too long is lost, unless it may be run again. */
TEST_F_TIMEOUT(pci, long_jobs_are_lost_or_run_again, 180)
{
	struct npu_client *a = &self->a;
	uint32_t size = npu_slow_stream(a->stream, npu_slow_count(a, 8000));

	ASSERT_EQ(0, submit(a, size, 0));
	ASSERT_TRUE(npu_job_runs());
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	EXPECT_EQ(-ECANCELED, result(a));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, state_of(a));

	ASSERT_EQ(0, submit(a, size, DRM_NPUEDGE_JOB_RERUN));
	ASSERT_TRUE(npu_job_runs());
	ASSERT_EQ(0, npu_write_text(self->reset, "1"));
	EXPECT_EQ(1, result(a));
	EXPECT_EQ(0, npu_device_works());
}

struct load {
	pthread_t thread;
	atomic_bool *stop;
	atomic_int jobs, lost;
	int error;
};

/* Calls of all kinds; each succeeds, and each job ends well or was lost. */
static void *load(void *data)
{
	struct drm_npuedge_telemetry telemetry;
	struct load *l = data;
	struct npu_client c;

	l->error = npu_client_init(&c);
	while (!l->error && !atomic_load(l->stop)) {
		int queue = npu_queue_create(c.fd, c.vm, DRM_NPUEDGE_PRIORITY_NORMAL), ret = queue < 0 ? queue : 0;

		ret = ret ? ret : npu_map(c.fd, c.vm, c.bo, 2 * NPU_VA, 0, NPU_PAGE, 0);
		ret = ret ? ret : npu_query(c.fd, DRM_NPUEDGE_QUERY_TELEMETRY, &telemetry, sizeof(telemetry));
		ret = ret || telemetry.time_ns != UINT64_MAX ? ret : -ENODATA;
		npu_copy_stream(c.stream, 1, 4);
		c.data[0] = ++l->jobs;
		ret = ret ? ret : npu_submit(c.fd, queue, NPU_STREAM, 192, NPU_PARAMS, 0, c.sync);
		ret = ret ? ret : npu_wait(c.fd, c.sync, 3 * NPU_WAIT_NS);
		if (!ret && npu_sync_status(c.fd, c.sync) == -ECANCELED)
			l->lost++;
		else if (!ret && (npu_sync_status(c.fd, c.sync) != 1 || c.data[1] != c.data[0]))
			ret = -EBADMSG;
		ret = ret ? ret : npu_unmap(c.fd, c.vm, 2 * NPU_VA, NPU_PAGE);
		ret = ret ? ret : npu_queue_destroy(c.fd, queue);
		l->error = ret;
	}
	npu_client_fini(&c);
	return NULL;
}

static void start(struct __test_metadata *_metadata, struct load *loads, atomic_bool *stop)
{
	for (int i = 0; i < LOAD_THREADS; i++) {
		loads[i].stop = stop;
		ASSERT_EQ(0, pthread_create(&loads[i].thread, NULL, load, &loads[i]));
	}
}

/* Until each has had a job end since. */
static void let_run(struct load *loads)
{
	int before[LOAD_THREADS];

	for (int t = 0; t < LOAD_THREADS; t++)
		before[t] = atomic_load(&loads[t].jobs);
	for (int t = 0; t < LOAD_THREADS; t++) {
		for (int n = 0; n < 4000 * npu_slowness() && atomic_load(&loads[t].jobs) < before[t] + 3; n++)
			usleep(5000);
	}
}

static void finish(struct __test_metadata *_metadata, struct load *loads)
{
	atomic_store(loads->stop, true);
	for (int i = 0; i < LOAD_THREADS; i++) {
		pthread_join(loads[i].thread, NULL);
		EXPECT_EQ(0, loads[i].error) {
			TH_LOG("after %d jobs, %d lost", loads[i].jobs, loads[i].lost);
		}
		EXPECT_GT(loads[i].jobs, loads[i].lost);
	}
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(pci, reset_under_load, 240)
{
	struct load loads[LOAD_THREADS] = { };
	atomic_bool stop = false;

	start(_metadata, loads, &stop);
	for (int i = 0; i < 5; i++) {
		usleep(200000);
		let_run(loads);
		EXPECT_EQ(0, npu_write_text(self->reset, "1"));
	}
	finish(_metadata, loads);
}

static void *reset_by_hand(void *unused)
{
	usleep(100000);
	npu_knob_write("reset", "1");
	return unused;
}

/* One may begin while another ends: each time there is a device that works, and whose firmware is talked to. */
TEST_F_TIMEOUT(pci, resets_of_two_kinds_meet, 180)
{
	for (unsigned int delay = 0; delay < 200000; delay += 10000) {
		pthread_t thread;

		ASSERT_EQ(0, pthread_create(&thread, NULL, reset_by_hand, NULL));
		usleep(delay);
		EXPECT_EQ(0, npu_write_text(self->reset, "1"));
		pthread_join(thread, NULL);
		ASSERT_EQ(0, npu_device_works());
	}
}

/* The function is bound, and the driver proper is not, nor is there anything to stop. */
TEST_F_TIMEOUT(pci, reset_without_driver, 120)
{
	char path[256], *child;

	ASSERT_EQ(0, npu_glob(PLAT_DRIVER "/npuedge-pci-ne1*", path, sizeof(path)));
	child = basename(path);
	ASSERT_EQ(0, npu_write_text(PLAT_DRIVER "/unbind", child));
	EXPECT_EQ(0, npu_write_text(self->reset, "1"));
	ASSERT_EQ(0, npu_write_text(PLAT_DRIVER "/bind", child));
	EXPECT_EQ(0, npu_device_works());
}

/* The BAR stays in the kernel's map of memory when its driver, which has a part of it, goes. */
TEST_F(pci, memory_map_outlives_the_driver)
{
	char *map;

	ASSERT_EQ(0, npu_unbind(self->slot));
	map = npu_read_file("/proc/iomem", NULL);
	ASSERT_NE(NULL, map);
	EXPECT_NE(NULL, strstr(map, self->slot));
	free(map);
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
	map = npu_read_file("/proc/iomem", NULL);
	EXPECT_LT(strstr(map, self->slot), strstr(map, "npuedge"));
	free(map);
}

/* Each way that the bus knows: short jobs and device are fine after it, and a long one ends. */
TEST_F_TIMEOUT(pci, each_method_of_reset, 180)
{
	struct npu_client *a = &self->a, *b = &self->b;
	char path[128], *methods, *method, *rest;
	int tried = 0;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset_method", self->slot);
	methods = npu_read_file(path, NULL);
	ASSERT_NE(NULL, methods);
	for (method = strtok_r(methods, " \n", &rest); method; method = strtok_r(NULL, " \n", &rest), tried++) {
		long long before = npu_knob_number("reset");
		int status;

		ASSERT_EQ(0, npu_write_text(path, method));
		ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 8000)), 0));
		ASSERT_TRUE(npu_job_runs());
		b->data[0] = 0x3333 + tried;
		npu_copy_stream(b->stream, 1, 4);
		ASSERT_EQ(0, submit(b, 192, 0));
		EXPECT_EQ(0, npu_write_text(self->reset, "1")) {
			TH_LOG("%s", method);
		}
		status = result(a);
		EXPECT_TRUE(status == -ECANCELED || status == 1);
		EXPECT_EQ(1, result(b));
		EXPECT_EQ(0x3333 + tried, b->data[1]);
		EXPECT_EQ(before + 1, npu_knob_number("reset"));
		npu_new_queue(a);
		EXPECT_EQ(0, npu_copy_word(a, 0x1111 + tried));
		EXPECT_EQ(0, npu_device_works());
	}
	free(methods);
	EXPECT_GT(tried, 0);
	EXPECT_EQ(0, npu_write_text(path, "default"));
}

/* It is gone from the bus while a job runs and files are open; all fences end; it comes back, and works. */
TEST_F_TIMEOUT(pci, removed_and_found_again, 120)
{
	struct npu_client *a = &self->a;
	char path[128];
	int file;

	ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 4000)), 0));
	file = npu_sync_file(a->fd, a->sync);
	ASSERT_TRUE(npu_job_runs());
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", self->slot);
	ASSERT_EQ(0, npu_write_text(path, "1"));
	EXPECT_EQ(-ENODEV, npu_wait_file(file));
	EXPECT_EQ(-ENODEV, submit(a, 192, 0));
	close(file);
	npu_client_fini(a);
	memset(a, 0, sizeof(*a));
	ASSERT_EQ(0, npu_write_text("/sys/bus/pci/rescan", "1"));
	EXPECT_EQ(0, npu_device_works());
}

static int config_write(const char *slot, long offset, const void *data, size_t size)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", slot);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = pwrite(fd, data, size, offset) == (ssize_t)size ? 0 : -errno;
	close(fd);
	return ret;
}

/* What a reset of the bus does to a function without driver: it has forgotten where its registers are. */
TEST_F_TIMEOUT(pci, function_without_registers_is_refused, 120)
{
	const uint32_t command = 0, bar[2] = { 0, 0 };
	char path[128];

	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	memset(&self->a, 0, sizeof(self->a));
	memset(&self->b, 0, sizeof(self->b));
	ASSERT_EQ(0, npu_unbind(self->slot));
	/* not answering in the meantime, or it would do so at 0 */
	ASSERT_EQ(0, config_write(self->slot, PCI_COMMAND, &command, 2));
	ASSERT_EQ(0, config_write(self->slot, PCI_BASE_ADDRESS_0, bar, sizeof(bar)));
	EXPECT_EQ(-EIO, npu_bind(self->slot));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", self->slot);
	ASSERT_EQ(0, npu_write_text(path, "1"));
	ASSERT_EQ(0, npu_write_text("/sys/bus/pci/rescan", "1"));
	EXPECT_EQ(0, npu_device_works());
}

/* As aer_inject reads it. */
struct aer_error {
	uint8_t bus, dev, fn;
	uint32_t uncorrectable, correctable, header[4], domain;
};

#define AER_INJECT		"/dev/aer_inject"
#define AER_ABSENT		"the kernel has no aer_inject"
#define AER_BAD_TLP		0x40u		/* corrected */
#define AER_COMPLETION_TIMEOUT	0x4000u		/* not fatal, as nobody has set it so */
#define AER_MALFORMED_TLP	0x40000u	/* fatal */

/* modprobe refuses what is built in, and then the file is there. */
static bool aer_there(void)
{
	return !access(AER_INJECT, W_OK) || (!system("modprobe -q aer_inject") && !access(AER_INJECT, W_OK));
}

/* The function reports an error: 0, or -errno.  What the kernel does about it comes later. */
static int aer(const char *slot, uint32_t correctable, uint32_t uncorrectable)
{
	struct aer_error error = { .correctable = correctable, .uncorrectable = uncorrectable };
	unsigned int domain, bus, dev, fn;

	if (sscanf(slot, "%x:%x:%x.%x", &domain, &bus, &dev, &fn) != 4)
		return -EINVAL;
	error.domain = domain;
	error.bus = bus;
	error.dev = dev;
	error.fn = fn;
	return npu_write_file(AER_INJECT, &error, sizeof(error));
}

/* Corrected errors that the kernel has heard of. */
static long aer_corrected(const char *slot)
{
	char path[128], *text, *total;
	long n = -1;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/aer_dev_correctable", slot);
	text = npu_read_file(path, NULL);
	total = text ? strstr(text, "TOTAL_ERR_COR ") : NULL;
	if (total)
		n = atol(total + strlen("TOTAL_ERR_COR "));
	free(text);
	return n;
}

static bool aer_count_above(const char *slot, long before)
{
	for (int i = 0; i < 2000 * npu_slowness() && aer_corrected(slot) <= before; i++)
		usleep(10000);
	return aer_corrected(slot) > before;
}

TEST_F_TIMEOUT(pci, corrected_error_changes_nothing, 120)
{
	long before = aer_corrected(self->slot), resets = npu_knob_number("reset");
	struct npu_client *a = &self->a, *b = &self->b;

	/* a kernel without CONFIG_PCIEAER_INJECT; a failure in tests/run */
	if (!aer_there())
		SKIP(return, AER_ABSENT);
	ASSERT_GE(before, 0);
	ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 300)), 0));
	ASSERT_TRUE(npu_job_runs());
	b->data[0] = 0x5555;
	npu_copy_stream(b->stream, 1, 4);
	ASSERT_EQ(0, submit(b, 192, 0));
	ASSERT_EQ(0, aer(self->slot, AER_BAD_TLP, 0));
	EXPECT_TRUE(aer_count_above(self->slot, before));
	EXPECT_EQ(1, result(a));
	EXPECT_EQ(1, result(b));
	EXPECT_EQ(0x5555, b->data[1]);
	EXPECT_EQ(resets, npu_knob_number("reset"));
	EXPECT_EQ(0, npu_device_works());
}

/*
 * The link fails, the driver finds registers of ones and cannot reset the device, and only then the bus says what happened.
 */
TEST_F_TIMEOUT(pci, link_that_was_found_dead_recovers, 180)
{
	struct npu_client *a = &self->a, *b = &self->b;
	long long resets = npu_knob_number("reset");
	struct npu_inject inj;
	int events;
	pid_t asks;

	/* no model, or without its window; a failure in tests/run */
	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	/* a kernel without CONFIG_PCIEAER_INJECT; a failure in tests/run */
	if (!aer_there())
		SKIP(return, AER_ABSENT);
	events = npu_uevent_open();
	ASSERT_GE(events, 0);
	ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 8000)), 0));
	ASSERT_TRUE(npu_job_runs());
	b->data[0] = 0x9999;
	npu_copy_stream(b->stream, 1, 4);
	ASSERT_EQ(0, submit(b, 192, 0));
	inject_begin(&inj, NPUSIM_MMIO_ONES);
	inject_arg(&inj, 0, 0);
	inject_arg(&inj, 1, NPUSIM_WINDOW);
	inject_arg(&inj, 2, 1);
	ASSERT_EQ(0, inject_arm(&inj));
	asks = fork();
	if (!asks)
		_exit(npu_knob_write("reset", "1") ? 1 : 0);
	ASSERT_GT(asks, 0);
	/* a reset that fails reads some 40, most of them for the dump; then there are 100 looks in 5 s */
	EXPECT_TRUE(inject_wait(&inj, NPUSIM_MMIO_ONES, 45, 5000));
	ASSERT_EQ(0, aer(self->slot, 0, AER_MALFORMED_TLP));
	EXPECT_TRUE(npu_uevent_wait(events, "WEDGED=none"));
	waitpid(asks, NULL, 0);
	inject_close(&inj);
	close(events);
	EXPECT_EQ(-ECANCELED, result(a));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, state_of(a));
	EXPECT_EQ(1, result(b));
	EXPECT_EQ(0x9999, b->data[1]);
	EXPECT_EQ(resets + 1, npu_knob_number("reset"));
	EXPECT_EQ(0, npu_device_works());
}

FIXTURE(aer) {
	struct npu_client a, b;
	struct npu_inject inj;
	char slot[64];
	int events;
};

FIXTURE_VARIANT(aer) {
	uint32_t error;
};

FIXTURE_VARIANT_ADD(aer, non_fatal) { .error = AER_COMPLETION_TIMEOUT };
FIXTURE_VARIANT_ADD(aer, fatal) { .error = AER_MALFORMED_TLP };

FIXTURE_SETUP(aer)
{
	int ret = npu_client_init(&self->a);

	self->events = -1;
	/* on other machines; tests/run takes this and the next for failures */
	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, npu_client_init(&self->b));
	if (npu_slot(self->slot, sizeof(self->slot)) || strstr(self->slot, ".npu"))
		SKIP(return, "not a PCI function");
	/* a kernel without CONFIG_PCIEAER_INJECT; a failure in tests/run */
	if (!aer_there())
		SKIP(return, AER_ABSENT);
	self->events = npu_uevent_open();
	ASSERT_GE(self->events, 0);
}

FIXTURE_TEARDOWN(aer)
{
	inject_close(&self->inj);
	if (self->events >= 0)
		close(self->events);
	npu_client_fini(&self->a);
	npu_client_fini(&self->b);
	npu_dumps_clear();
}

/* One that runs has lost data; those behind it in its queue go with it, others do not. */
TEST_F_TIMEOUT(aer, running_job_is_lost_and_others_are_not, 180)
{
	struct npu_client *a = &self->a, *b = &self->b;
	long long resets = npu_knob_number("reset");
	int behind;

	ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 8000)), 0));
	ASSERT_TRUE(npu_job_runs());
	behind = npu_sync_file(a->fd, a->sync);
	ASSERT_EQ(0, submit(a, 192, 0));
	b->data[0] = 0x6666;
	npu_copy_stream(b->stream, 1, 4);
	ASSERT_EQ(0, submit(b, 192, 0));
	ASSERT_EQ(0, aer(self->slot, 0, variant->error));
	EXPECT_EQ(-ECANCELED, npu_wait_file(behind));
	close(behind);
	EXPECT_EQ(-ECANCELED, result(a));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_INNOCENT, state_of(a));
	EXPECT_EQ(1, result(b));
	EXPECT_EQ(0x6666, b->data[1]);
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, state_of(b));
	EXPECT_EQ(resets + 1, npu_knob_number("reset"));
	EXPECT_TRUE(npu_uevent_wait(self->events, "WEDGED=none"));
	npu_new_queue(a);
	EXPECT_EQ(0, npu_copy_word(a, 0x7777));
	EXPECT_EQ(0, npu_device_works());
}

/* Likewise, but this one does no harm if it runs twice, and ends well. */
TEST_F_TIMEOUT(aer, running_job_runs_again, 180)
{
	struct npu_client *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 2000)), DRM_NPUEDGE_JOB_RERUN));
	ASSERT_TRUE(npu_job_runs());
	npu_copy_stream(b->stream, 1, 4);
	ASSERT_EQ(0, submit(b, 192, 0));
	ASSERT_EQ(0, aer(self->slot, 0, variant->error));
	EXPECT_TRUE(npu_uevent_wait(self->events, "WEDGED=none"));
	EXPECT_EQ(1, result(a));
	EXPECT_EQ(1, result(b));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_OK, state_of(a));
	EXPECT_EQ(0, npu_device_works());
}

/* Nobody uses the device, and it sleeps. */
TEST_F_TIMEOUT(aer, sleeping_device_recovers, 120)
{
	char path[128], pattern[160], *status = NULL;

	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/npuedge-pci-ne1*/power/runtime_status", self->slot);
	ASSERT_EQ(0, npu_glob(pattern, path, sizeof(path)));
	for (int i = 0; i < 500 * npu_slowness() && (!status || strncmp(status, "suspended", 9)); i++) {
		free(status);
		usleep(10000);
		status = npu_read_file(path, NULL);
	}
	EXPECT_EQ(0, strncmp(status, "suspended", 9));
	free(status);
	ASSERT_EQ(0, aer(self->slot, 0, variant->error));
	EXPECT_TRUE(npu_uevent_wait(self->events, "WEDGED=none"));
	EXPECT_EQ(0, npu_copy_word(&self->a, 0x8888));
	EXPECT_EQ(0, npu_device_works());
}

/* Errors meet calls of all kinds, and resets that have other reasons. */
TEST_F_TIMEOUT(aer, errors_under_load, 300)
{
	struct load loads[LOAD_THREADS] = { };
	atomic_bool stop = false;

	start(_metadata, loads, &stop);
	for (int i = 0; i < 5; i++) {
		let_run(loads);
		EXPECT_EQ(0, aer(self->slot, 0, variant->error));
		if (i % 2) {
			usleep(i * 3000);
			npu_knob_write("reset", "1");
		}
		EXPECT_TRUE(npu_uevent_wait(self->events, "WEDGED=none"));
	}
	finish(_metadata, loads);
}

/* The driver proper goes, sooner or later after the error, and comes back. */
TEST_F_TIMEOUT(aer, unbound_while_the_bus_recovers, 300)
{
	char path[256], *child;

	npu_client_fini(&self->b);
	memset(&self->b, 0, sizeof(self->b));
	ASSERT_EQ(0, npu_glob(PLAT_DRIVER "/npuedge-pci-ne1*", path, sizeof(path)));
	child = basename(path);
	for (int i = 0; i < 6; i++) {
		struct npu_client c;
		int file, status;

		ASSERT_EQ(0, npu_client_init(&c));
		ASSERT_EQ(0, submit(&c, npu_slow_stream(c.stream, 8000), 0));
		ASSERT_TRUE(npu_job_runs());
		file = npu_sync_file(c.fd, c.sync);
		ASSERT_EQ(0, aer(self->slot, 0, variant->error));
		usleep(i * i * 4000);
		ASSERT_EQ(0, npu_write_text(PLAT_DRIVER "/unbind", child));
		status = npu_wait_file(file);
		EXPECT_TRUE(status == -ENODEV || status == -ECANCELED) {
			TH_LOG("round %d: %d", i, status);
		}
		close(file);
		npu_client_fini(&c);
		/* a bus that is being reset has no device to bind to */
		for (int n = 0; n < 200 * npu_slowness() && npu_write_text(PLAT_DRIVER "/bind", child); n++)
			usleep(50000);
		for (int n = 0; n < 200 * npu_slowness() && npu_device_works(); n++)
			usleep(50000);
		ASSERT_EQ(0, npu_device_works());
	}
}

/* The device does not stop, and is given up: all fences end, it can be removed, and works when it is found again. */
TEST_F_TIMEOUT(aer, device_that_does_not_recover_is_lost, 180)
{
	struct npu_client *a = &self->a, *b = &self->b;
	char path[128];
	int file;

	/* no model, or without its window; a failure in tests/run */
	if (inject_open(&self->inj))
		SKIP(return, INJECT_ABSENT);
	ASSERT_EQ(0, submit(a, npu_slow_stream(a->stream, npu_slow_count(a, 8000)), 0));
	ASSERT_TRUE(npu_job_runs());
	file = npu_sync_file(a->fd, a->sync);
	npu_copy_stream(b->stream, 1, 4);
	ASSERT_EQ(0, submit(b, 192, 0));
	inject_begin(&self->inj, NPUSIM_RESET_STUCK);
	inject_count(&self->inj, 0);
	ASSERT_EQ(0, inject_arm(&self->inj));
	ASSERT_EQ(0, aer(self->slot, 0, variant->error));
	EXPECT_TRUE(npu_uevent_wait(self->events, "WEDGED=rebind,bus-reset"));
	EXPECT_EQ(-ENODEV, npu_wait_file(file));
	close(file);
	EXPECT_EQ(-ENODEV, result(b));
	EXPECT_EQ(-ENODEV, submit(b, 192, 0));
	EXPECT_EQ(-ENODEV, npu_vm_create(a->fd));
	inject_close(&self->inj);
	npu_client_fini(a);
	npu_client_fini(b);
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", self->slot);
	ASSERT_EQ(0, npu_write_text(path, "1"));
	ASSERT_EQ(0, npu_write_text("/sys/bus/pci/rescan", "1"));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
