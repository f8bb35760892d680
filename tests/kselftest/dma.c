// SPDX-License-Identifier: GPL-2.0
/*
 * What the driver has mapped for DMA, and what memory it shares with the device, ends when it lets go of the
 * device, whoever still holds buffers, address spaces and queues.  The kernel's tracepoints of the DMA API tell.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "buffer.h"
#include "debugfs.h"
#include "inject.h"
#include "vgem.h"

#define TRACING	"/sys/kernel/tracing"
#define SIZE	(64 * NPU_PAGE)
#define SEED	77

/* What begins and what ends a mapping; not every kernel has all of them. */
static const char *const begins[] = {
	"dma_map_sg", "dma_map_page", "dma_map_phys", "dma_map_resource", "dma_alloc", "dma_alloc_pages",
	"dma_alloc_sgt",
};
static const char *const ends[] = {
	"dma_unmap_sg", "dma_unmap_page", "dma_unmap_phys", "dma_unmap_resource", "dma_free", "dma_free_pages",
	"dma_free_sgt",
};
#define KINDS	(sizeof(ends) / sizeof(ends[0]))

FIXTURE(dma) {
	char slot[64];
};

static void trace(const char *event, const char *file, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), TRACING "/events/dma/%s/%s", event, file);
	if (!access(path, W_OK))
		npu_write_text(path, value);
}

static void trace_all(const char *filter, const char *on)
{
	for (size_t i = 0; i < KINDS; i++) {
		trace(begins[i], "filter", filter);
		trace(ends[i], "filter", filter);
		trace(begins[i], "enable", on);
		trace(ends[i], "enable", on);
	}
}

static int count(const char *text, const char *event)
{
	char pattern[64];
	int n = 0;

	snprintf(pattern, sizeof(pattern), " %s: ", event);
	for (const char *at = text; (at = strstr(at, pattern)); at++)
		n++;
	return n;
}

/* Mappings and allocations of the device that are there, since it was bound; @all: how many there ever were. */
static int mapped(int *all)
{
	char *text = npu_read_file(TRACING "/trace", NULL);
	int begun = 0, ended = 0;

	for (size_t i = 0; text && i < KINDS; i++) {
		begun += count(text, begins[i]);
		ended += count(text, ends[i]);
	}
	free(text);
	if (all)
		*all = begun;
	return begun - ended;
}

/* What a kernel that checks the DMA API knows of the device; 0 if it does not. */
static int pending(const char *slot)
{
	char *text = npu_read_file("/sys/kernel/debug/dma-api/dump", NULL);
	int n = 0;

	for (const char *at = text; at && (at = strstr(at, slot)); at++)
		n++;
	free(text);
	return n;
}

FIXTURE_SETUP(dma)
{
	char filter[128];

	if (npu_slot(self->slot, sizeof(self->slot)) || access(NPU_PCI_DRIVER "/unbind", W_OK))
		SKIP(return, "the device cannot be unbound");
	if (access(TRACING "/events", F_OK) && mount("tracefs", TRACING, "tracefs", 0, NULL))
		SKIP(return, "no tracefs");
	if (access(TRACING "/events/dma/dma_map_sg", F_OK))
		SKIP(return, "no tracepoints of the DMA API");
	ASSERT_EQ(0, npu_unbind(self->slot));
	ASSERT_EQ(0, npu_write_text(TRACING "/trace", ""));
	ASSERT_EQ(0, npu_write_text(TRACING "/buffer_size_kb", "16384"));
	snprintf(filter, sizeof(filter), "device == \"%s\"", self->slot);
	trace_all(filter, "1");
	ASSERT_EQ(0, npu_bind(self->slot));
	ASSERT_EQ(0, npu_device_works());
}

FIXTURE_TEARDOWN(dma)
{
	npu_bind(self->slot); /* in case that the test did not get so far */
	trace_all("0", "0");
	npu_write_text(TRACING "/trace", "");
}

/* A buffer in each state that one can be in; all of them are mapped in the VM of @c. */
struct buffers {
	struct npu_client c, peer;
	struct vgem foreign, gate;
	int own, wc, shared, dmabuf, heap, udmabuf, memfd, imported;
	uint32_t *own_map, *wc_map, *shared_map, *foreign_map;
};

static uint64_t va_of(int i)
{
	return NPU_VA * 2 + i * SIZE;
}

static int buffers_init(struct buffers *b)
{
	struct npu_client *c = &b->c;
	int handle[6], ret = 0;

	memset(b, 0, sizeof(*b));
	if (npu_client_init(c) || npu_client_init(&b->peer) || vgem_init(&b->foreign, SIZE) ||
	    vgem_init(&b->gate, NPU_PAGE))
		return -ENODEV;
	handle[0] = b->own = npu_bo_create(c->fd, SIZE, 0, c->vm);
	handle[1] = b->wc = npu_bo_create(c->fd, SIZE, DRM_NPUEDGE_BO_WC, 0);
	handle[2] = b->shared = npu_bo_create(c->fd, SIZE, 0, 0);
	handle[3] = b->imported = npu_import(c->fd, b->foreign.dmabuf);
	b->heap = npu_heap_alloc(SIZE, O_RDWR);
	handle[4] = b->heap > 0 ? npu_import(c->fd, b->heap) : 0;
	b->udmabuf = npu_udmabuf(SIZE, 0, &b->memfd);
	handle[5] = b->udmabuf > 0 ? npu_import(c->fd, b->udmabuf) : 0;
	for (int i = 0; !ret && i < 6; i++)
		ret = handle[i] > 0 ? npu_map(c->fd, c->vm, handle[i], va_of(i), 0, SIZE, 0) : handle[i];
	b->own_map = npu_bo_map(c->fd, b->own, SIZE);
	b->wc_map = npu_bo_map(c->fd, b->wc, SIZE);
	b->shared_map = npu_bo_map(c->fd, b->shared, SIZE);
	b->foreign_map = npu_bo_map(c->fd, b->imported, SIZE);
	if (ret || b->own_map == MAP_FAILED || b->wc_map == MAP_FAILED || b->shared_map == MAP_FAILED ||
	    b->foreign_map == MAP_FAILED)
		return ret ? ret : -ENOMEM;
	npu_fill(b->own_map, SIZE, SEED);
	npu_fill(b->wc_map, SIZE, SEED + 1);
	npu_fill(b->shared_map, SIZE, SEED + 2);
	npu_fill(b->foreign_map, SIZE, SEED + 3);
	/* another device and another file of this one */
	b->dmabuf = npu_export(c->fd, b->shared, DRM_RDWR);
	ret = npu_import(b->foreign.fd, b->dmabuf);
	if (ret > 0)
		ret = npu_import(b->peer.fd, b->dmabuf);
	return ret > 0 ? npu_map(b->peer.fd, b->peer.vm, ret, va_of(0), 0, SIZE, DRM_NPUEDGE_BIND_READONLY) : ret;
}

/* Queues a change that waits until vgem_end(&b->gate), and holds page tables; returns its sync_file. */
static int buffers_queue_bind(struct buffers *b)
{
	struct npu_client *c = &b->c;
	struct drm_npuedge_vm_bind_op ops[] = {
		{ .op = DRM_NPUEDGE_BIND_MAP, .handle = b->wc, .va = NPU_VA * 64, .size = SIZE },
		{ .op = DRM_NPUEDGE_BIND_UNMAP, .va = va_of(2), .size = NPU_PAGE },
	};
	int ret = vgem_begin(&b->gate, 1), in, out = npu_syncobj_create(c->fd);

	in = ret ? ret : vgem_syncobj(c->fd, b->gate.dmabuf);
	ret = in < 0 ? in : npu_bind_async(c->fd, c->vm, ops, 2, in, out);
	return ret ? ret : npu_sync_file(c->fd, out);
}

static int wrong_words(const uint32_t *map, uint32_t seed)
{
	int wrong = 0;

	for (uint64_t i = 0; i < SIZE / NPU_PAGE; i++)
		wrong += map[i * NPU_PAGE / 4] != npu_fill_word(i, seed);
	return wrong;
}

static void buffers_fini(struct buffers *b)
{
	uint32_t *maps[] = { b->own_map, b->wc_map, b->shared_map, b->foreign_map };

	npu_client_fini(&b->peer);
	npu_client_fini(&b->c);
	for (int i = 0; i < 4; i++)
		munmap(maps[i], SIZE);
	close(b->dmabuf);
	if (b->heap > 0)
		close(b->heap);
	if (b->udmabuf > 0)
		close(b->udmabuf);
	if (b->memfd > 0)
		close(b->memfd);
	vgem_fini(&b->gate);
	vgem_fini(&b->foreign);
}

/* The CPU's view of buffers whose device is gone. */
static void check_contents(struct __test_metadata *_metadata, struct buffers *b)
{
	uint32_t *late;

	EXPECT_EQ(0, wrong_words(b->own_map, SEED));
	EXPECT_EQ(0, wrong_words(b->wc_map, SEED + 1));
	EXPECT_EQ(0, wrong_words(b->shared_map, SEED + 2));
	EXPECT_EQ(0, wrong_words(b->foreign_map, SEED + 3));
	b->wc_map[1] = 5;
	EXPECT_EQ(5, b->wc_map[1]);
	/* and one that begins only now */
	late = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, b->dmabuf, 0);
	ASSERT_NE(MAP_FAILED, late);
	EXPECT_EQ(0, wrong_words(late, SEED + 2));
	late[1] = 6;
	EXPECT_EQ(6, b->shared_map[1]);
	munmap(late, SIZE);
}

TEST_F_TIMEOUT(dma, nothing_stays_mapped, 90)
{
	static struct buffers b;
	int bind, job, all, before, ret;

	ASSERT_EQ(0, buffers_init(&b));
	bind = buffers_queue_bind(&b);
	ASSERT_GE(bind, 0);
	ASSERT_EQ(0, npu_submit(b.peer.fd, b.peer.queue, NPU_STREAM, npu_slow_stream(b.peer.stream, 400), NPU_PARAMS,
				0, b.peer.sync));
	job = npu_sync_file(b.peer.fd, b.peer.sync);
	/* 7 buffers, tables of 2 VMs and of the firmware, its image, shared memory, 2 queues */
	before = mapped(&all);
	EXPECT_GE(before, 20);

	ASSERT_EQ(0, npu_unbind(self->slot));
	EXPECT_EQ(0, mapped(NULL)) {
		TH_LOG("of %d", before);
	}
	EXPECT_EQ(0, pending(self->slot));
	EXPECT_NE(0, npu_wait_file(job));
	check_contents(_metadata, &b);

	/* nothing is mapped any more, by whatever goes on or comes to its end */
	ret = vgem_end(&b.gate);
	EXPECT_TRUE(!ret || ret == -ETIMEDOUT);	/* by itself, if all that took 10 s */
	EXPECT_NE(-ETIME, npu_wait_file(bind));
	close(bind);
	close(job);
	buffers_fini(&b);
	usleep(100000);	/* workers free the rest */
	EXPECT_EQ(0, mapped(&before));
	EXPECT_EQ(all, before);
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

struct worker {
	struct npu_client c;
	int foreign;	/* dma-buf */
	volatile bool stop;
	atomic_long rounds;
};

/* Makes, imports, maps, touches and closes buffers, and goes on when the device is gone. */
static void *worker_run(void *arg)
{
	struct worker *w = arg;
	struct npu_client *c = &w->c;

	for (; !w->stop; w->rounds++) {
		int fd = npu_open(), mine = fd < 0 ? c->fd : fd;
		int bo = npu_bo_create(mine, 8 * NPU_PAGE, w->rounds & 1 ? DRM_NPUEDGE_BO_WC : 0, 0);
		int foreign = npu_import(mine, w->foreign), vm = npu_vm_create(mine);
		uint32_t *map = bo > 0 ? npu_bo_map(mine, bo, 8 * NPU_PAGE) : MAP_FAILED;

		npu_map(mine, vm, bo, NPU_VA * 4, 0, 8 * NPU_PAGE, 0);
		npu_map(mine, vm, foreign, NPU_VA * 5, 0, 8 * NPU_PAGE, 0);
		if (map != MAP_FAILED) {
			map[0] = 1;
			munmap(map, 8 * NPU_PAGE);
		}
		if (foreign > 0)
			npu_bo_close(mine, foreign);
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

/* Who comes and goes while the driver lets go of the device. */
TEST_F_TIMEOUT(dma, nothing_stays_mapped_under_load, 120)
{
	static struct worker w[3];
	struct vgem v;

	ASSERT_EQ(0, vgem_init(&v, 8 * NPU_PAGE));
	for (int round = 0; round < 5; round++) {
		pthread_t thread[3];
		int left;

		memset(w, 0, sizeof(w));
		for (int i = 0; i < 3; i++) {
			ASSERT_EQ(0, npu_client_init(&w[i].c));
			w[i].foreign = v.dmabuf;
			ASSERT_EQ(0, pthread_create(&thread[i], NULL, worker_run, &w[i]));
		}
		usleep(50000 + round * 20000);
		for (int i = 0; i < 3; i++) {
			for (int n = 0; n < 2000 * npu_slowness() && !w[i].rounds; n++)
				usleep(10000);
		}
		EXPECT_EQ(0, npu_unbind(self->slot));
		left = mapped(NULL);
		EXPECT_EQ(0, left) {
			TH_LOG("round %d", round);
		}
		for (int i = 0; i < 3; i++) {
			w[i].stop = true;
			pthread_join(thread[i], NULL);
			EXPECT_GT(w[i].rounds, 0);
			npu_client_fini(&w[i].c);
		}
		EXPECT_EQ(left, mapped(NULL));
		EXPECT_EQ(0, pending(self->slot));
		ASSERT_EQ(0, npu_write_text(TRACING "/trace", ""));
		ASSERT_EQ(0, npu_bind(self->slot));
		ASSERT_EQ(0, npu_device_works());
	}
	vgem_fini(&v);
}

/* A device that is lost reaches nothing any more, though the driver is still bound to it. */
TEST_F_TIMEOUT(dma, a_lost_device_has_nothing_mapped, 120)
{
	static struct buffers b;
	struct npu_inject inj;

	if (inject_open(&inj))
		SKIP(return, INJECT_ABSENT);
	ASSERT_EQ(0, buffers_init(&b));
	inject_begin(&inj, NPUSIM_RESET_STUCK);
	inject_count(&inj, 2);
	ASSERT_EQ(0, inject_arm(&inj));
	npu_knob_write("reset", "1");
	for (int i = 0; i < 3000 * npu_slowness() && mapped(NULL); i++)
		usleep(10000);
	EXPECT_EQ(0, mapped(NULL));
	for (int i = 0; i < 2000 * npu_slowness() && npu_vm_create(b.c.fd) != -ENODEV; i++)
		usleep(10000);
	EXPECT_EQ(-ENODEV, npu_vm_create(b.c.fd));
	check_contents(_metadata, &b);
	inject_close(&inj);
	buffers_fini(&b);
	EXPECT_EQ(0, mapped(NULL));
	ASSERT_EQ(0, npu_unbind(self->slot));
	ASSERT_EQ(0, npu_bind(self->slot));
	EXPECT_EQ(0, npu_device_works());
}

TEST_HARNESS_MAIN
