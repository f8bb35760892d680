// SPDX-License-Identifier: GPL-2.0
/* Firmware that is none, is damaged, or does not come up again: the driver says so, and leaves nothing behind. */
#include <stdbool.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "debugfs.h"
#include "inject.h"
#include "ne1_fw_image.h"
#include "sysfs.h"

#define SEARCH_PATH	"/sys/module/firmware_class/parameters/path"
#define FIRMWARE	"/lib/firmware/npuedge/npuedge-ne1.fw"

FIXTURE(firmware) {
	char slot[64], dir[64], path[128];
	uint8_t *image;
	size_t size;
};

FIXTURE_SETUP(firmware)
{
	FILE *file;
	int fd = npu_open();

	if (fd < 0)
		SKIP(return, "no npuedge device");
	close(fd);
	if (npu_slot(self->slot, sizeof(self->slot)) || access(SEARCH_PATH, W_OK))
		SKIP(return, "not allowed to unbind, or to say where firmware is");
	file = fopen(FIRMWARE, "r");
	if (!file)
		SKIP(return, "no " FIRMWARE);
	self->image = malloc(1 << 20);
	self->size = fread(self->image, 1, 1 << 20, file);
	fclose(file);
	ASSERT_GT(self->size, sizeof(struct ne1_fw_header));

	strcpy(self->dir, "/tmp/npuedge-firmware-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	snprintf(self->path, sizeof(self->path), "%s/npuedge", self->dir);
	ASSERT_EQ(0, mkdir(self->path, 0755));
	strcat(self->path, "/npuedge-ne1.fw");
}

FIXTURE_TEARDOWN(firmware)
{
	if (!self->image)
		return;
	npu_write_text(SEARCH_PATH, "\n");
	unlink(self->path);
	*strrchr(self->path, '/') = '\0';
	rmdir(self->path);
	rmdir(self->dir);
	npu_unbind(self->slot);
	npu_bind(self->slot);
	free(self->image);
}

/* Whether a line of @path names the driver. */
static bool file_names_driver(const char *path)
{
	char line[1024];
	bool found = false;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		found |= !!strstr(line, "npuedge-");
	if (file)
		fclose(file);
	return found;
}

TEST_F_TIMEOUT(firmware, bad_image_is_refused, 90)
{
	static const char *const names[] = { "magic", "header size", "payload size", "load address", "ABI", "payload",
					     "signature", "cut in the payload", "cut in the header" };
	struct ne1_fw_header *h = (void *)self->image;
	char found[256];

	ASSERT_EQ(0, npu_write_text(SEARCH_PATH, self->dir));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct ne1_fw_header saved = *h;
		size_t size = self->size;
		uint8_t *flip = NULL;

		switch (i) {
		case 0: h->magic ^= 1; break;
		case 1: h->header_size += 4; break;
		case 2: h->payload_size = ~0u; break;
		case 3: h->load_addr = 0xfffffff0; break;
		case 4: h->abi_major++; break;
		case 5: flip = self->image + sizeof(*h) + 64; break;
		case 6: flip = self->image + self->size - 1; break;
		case 7: size = sizeof(*h) + 10; break;
		case 8: size = sizeof(*h) - 1; break;
		}
		if (flip)
			*flip ^= 0x40;
		ASSERT_EQ(0, npu_write_file(self->path, self->image, size));
		if (flip)
			*flip ^= 0x40;
		*h = saved;

		ASSERT_EQ(0, npu_unbind(self->slot));
		npu_bind(self->slot);
		EXPECT_EQ(-ENODEV, npu_open()) {
			TH_LOG("accepted: %s", names[i]);
		}
		EXPECT_FALSE(file_names_driver("/proc/interrupts"));
		EXPECT_FALSE(file_names_driver("/proc/iomem"));
		EXPECT_NE(0, npu_glob("/sys/kernel/debug/accel/*/job_timeout_ms", found, sizeof(found)));
	}

	ASSERT_EQ(0, npu_write_file(self->path, self->image, self->size));
	ASSERT_EQ(0, npu_unbind(self->slot));
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_F_TIMEOUT(firmware, reset_needs_no_file, 60)
{
	char knob[256];
	struct npu_client c;

	if (npu_glob("/sys/kernel/debug/accel/*/reset", knob, sizeof(knob)))
		SKIP(return, "debugfs is not there (reset)");
	/* a damaged file where firmware is looked for: nobody looks */
	self->image[0] ^= 1;
	ASSERT_EQ(0, npu_write_file(self->path, self->image, self->size));
	self->image[0] ^= 1;
	ASSERT_EQ(0, npu_write_text(SEARCH_PATH, self->dir));

	ASSERT_EQ(0, npu_client_init(&c));
	for (int i = 0; i < 3; i++) {
		uint32_t size = npu_slow_stream(c.stream, 8000);

		/* one in the device, one behind it */
		ASSERT_EQ(0, npu_submit(c.fd, c.queue, NPU_STREAM, size, NPU_PARAMS, 0, 0));
		ASSERT_EQ(0, npu_submit(c.fd, c.queue, NPU_STREAM, size, NPU_PARAMS, 0, c.sync));
		ASSERT_TRUE(npu_job_runs());
		ASSERT_EQ(0, npu_write_text(knob, "1"));
		ASSERT_EQ(0, npu_wait(c.fd, c.sync, NPU_WAIT_NS));
		EXPECT_EQ(-ECANCELED, npu_sync_status(c.fd, c.sync));
		npu_copy_stream(c.stream, 1, 4);
		c.data[0] = i + 70;
		ASSERT_EQ(0, npu_submit(c.fd, c.queue, NPU_STREAM, 192, NPU_PARAMS, 0, c.sync));
		ASSERT_EQ(0, npu_wait(c.fd, c.sync, NPU_WAIT_NS));
		EXPECT_EQ(i + 70, c.data[1]);
	}
	npu_client_fini(&c);
}

TEST_F_TIMEOUT(firmware, device_that_does_not_start_is_lost, 120)
{
	struct npu_inject inj;
	struct npu_client c;
	char knob[256];
	int file, late = 0;

	if (npu_glob("/sys/kernel/debug/accel/*/reset", knob, sizeof(knob)))
		SKIP(return, "debugfs is not there (reset)");
	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	inject_begin(&inj, NPUSIM_BOOT_NOT_READY);
	inject_count(&inj, 0);
	ASSERT_EQ(0, inject_arm(&inj));

	ASSERT_EQ(0, npu_client_init(&c));
	ASSERT_EQ(0, npu_submit(c.fd, c.queue, NPU_STREAM, npu_slow_stream(c.stream, 8000), NPU_PARAMS, 0, c.sync));
	file = npu_sync_file(c.fd, c.sync);
	npu_write_text(knob, "1");
	EXPECT_LT(npu_wait_file(file), 0);
	EXPECT_EQ(-ENODEV, npu_submit(c.fd, c.queue, NPU_STREAM, 192, NPU_PARAMS, 0, 0));
	inject_close(&inj);
	EXPECT_EQ(-ENODEV, npu_vm_create(c.fd));
	/* a worker unplugs it, a little later */
	for (int i = 0; i < 500 * npu_slowness() && (late = npu_open()) >= 0; i++) {
		close(late);
		usleep(10000);
	}
	EXPECT_EQ(-ENODEV, late);
	close(file);
	npu_client_fini(&c);

	ASSERT_EQ(0, npu_unbind(self->slot));
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
