// SPDX-License-Identifier: GPL-2.0
/* Address spaces: VM_CREATE, VM_BIND, and what a job sees of them. */
#include "kselftest_harness.h"
#include "sysfs.h"

#define BIG	(2ull << 20)	/* bytes of the big leaf */

FIXTURE(vm_bind) {
	struct npu_client c;
};

FIXTURE_SETUP(vm_bind)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(vm_bind)
{
	npu_client_fini(&self->c);
}

/* Copies one word from @src_va to @dst_va by a job; returns the status of its fence. */
static int copy_word(struct npu_client *c, uint64_t src_va, uint64_t dst_va)
{
	return npu_copy(c, src_va, dst_va, 4);
}

TEST_F(vm_bind, bad_arguments)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_chip_info chip;
	uint64_t va = NPU_VA * 2;
	struct {
		struct drm_npuedge_vm_bind_op op;
		int error;
	} cases[] = {
		{ { .va = va, .size = 4096 }, -ENOENT },				/* no handle */
		{ { .handle = 4242, .va = va, .size = 4096 }, -ENOENT },
		{ { .handle = c->bo, .va = va }, -EINVAL },				/* size 0 */
		{ { .handle = c->bo, .va = va + 1, .size = 4096 }, -EINVAL },
		{ { .handle = c->bo, .va = va, .size = 4097 }, -EINVAL },
		{ { .handle = c->bo, .va = va, .size = 4096, .bo_offset = 12 }, -EINVAL },
		{ { .handle = c->bo, .va = va, .size = 4096, .bo_offset = NPU_CLIENT_SIZE }, -EINVAL },
		{ { .handle = c->bo, .va = va, .size = NPU_CLIENT_SIZE + 4096 }, -EINVAL },
		{ { .handle = c->bo, .va = va, .size = 8192, .bo_offset = ~4095ull }, -EINVAL },
		{ { .handle = c->bo, .va = 0, .size = 4096 }, -EINVAL },		/* below va_start */
		{ { .handle = c->bo, .va = 1ull << 39, .size = 4096 }, -EINVAL },
		{ { .handle = c->bo, .va = (1ull << 39) - 4096, .size = 8192 }, -EINVAL },
		{ { .handle = c->bo, .va = ~4095ull, .size = 8192 }, -EINVAL },	/* wraps */
		{ { .handle = c->bo, .va = va, .size = 4096, .flags = 1u << 30 }, -EINVAL },
		{ { .handle = c->bo, .va = va, .size = 4096, .pad = 1 }, -EINVAL },
		{ { .op = 7, .handle = c->bo, .va = va, .size = 4096 }, -EINVAL },
		{ { .op = DRM_NPUEDGE_BIND_UNMAP, .handle = c->bo, .va = va, .size = 4096 }, -EINVAL },
		{ { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va, .size = 4096, .bo_offset = 4096 }, -EINVAL },
		{ { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va }, -EINVAL },
		{ { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va, .size = ~4095ull }, -EINVAL },	/* wraps */
		{ { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va, .size = -va }, -EINVAL },
		{ { .op = DRM_NPUEDGE_BIND_UNMAP, .va = va, .size = 1ull << 39 }, -EINVAL },
	};

	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_CHIP, &chip, sizeof(chip)));
	ASSERT_GT(chip.va_start, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_EQ(cases[i].error, npu_bind_ops(c->fd, c->vm, &cases[i].op, 1)) {
			TH_LOG("case %zu", i);
		}
	}
	EXPECT_EQ(-ENOENT, npu_map(c->fd, 999, c->bo, va, 0, 4096, 0));
	EXPECT_EQ(-EINVAL, npu_bind_ops(c->fd, c->vm, &cases[0].op, 0));
	EXPECT_EQ(-ENOENT, npu_vm_destroy(c->fd, 999));
	EXPECT_EQ(-ENOENT, npu_vm_destroy(c->fd, 0));
}

TEST_F(vm_bind, error_tells_how_far_it_got)
{
	struct npu_client *c = &self->c;
	uint64_t va = NPU_VA * 2;
	struct drm_npuedge_vm_bind_op ops[3] = {
		{ .handle = c->bo, .va = va, .size = 4096, .bo_offset = 4096 },
		{ .handle = 4242, .va = va + 4096, .size = 4096 },
		{ .handle = c->bo, .va = va + 8192, .size = 4096 },
	};
	struct drm_npuedge_vm_bind bind = {
		.vm_id = c->vm, .ops = { .stride = sizeof(ops[0]), .count = 3, .ptr = (uintptr_t)ops },
	};

	ASSERT_EQ(-ENOENT, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind));
	EXPECT_EQ(1, bind.ops.count);
	c->data[0] = 0xc0ffee;
	EXPECT_EQ(1, copy_word(c, va, NPU_DATA + 64)); /* the first one stays */
	EXPECT_EQ(0xc0ffee, c->data[16]);
}

/* Pages of the CPU may be larger: then several parts of one are mapped each for itself. */
TEST_F(vm_bind, alignment_is_what_the_query_says)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_limits limits = { 0 };
	uint64_t va = NPU_VA * 2, size = 4 * getpagesize(), unit, parts;
	int bo = npu_bo_create(c->fd, size, 0, 0);
	uint32_t *map = npu_bo_map(c->fd, bo, size);

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, npu_query(c->fd, DRM_NPUEDGE_QUERY_LIMITS, &limits, sizeof(limits)));
	unit = limits.bind_align;
	ASSERT_GE(unit, 64);
	ASSERT_EQ(0, size % unit);
	EXPECT_EQ(0, limits.pad);
	parts = size / unit;
	for (uint64_t i = 0; i < parts; i++)
		map[i * unit / 4] = 1000 + i;

	/* from the last to the first, with holes */
	for (uint64_t i = 0; i < parts; i++)
		ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, va + 2 * i * unit, (parts - 1 - i) * unit, unit, 0));
	for (uint64_t i = 0; i < parts; i++) {
		ASSERT_EQ(1, copy_word(c, va + 2 * i * unit, NPU_DATA + 4));
		ASSERT_EQ(1000 + parts - 1 - i, c->data[1]);
	}
	EXPECT_EQ(1, copy_word(c, va + unit - 4, NPU_DATA + 4));
	EXPECT_EQ(-EIO, copy_word(c, va + unit, NPU_DATA + 4));

	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, bo, va + unit / 2, 0, unit, 0));
	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, bo, va, unit / 2, unit, 0));
	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, bo, va, 0, unit / 2, 0));
	EXPECT_EQ(-EINVAL, npu_map(c->fd, c->vm, bo, va, size, unit, 0));
	munmap(map, size);
}

TEST_F(vm_bind, two_places_one_page)
{
	struct npu_client *c = &self->c;
	uint64_t far = 1ull << 38;

	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, far, NPU_PAGE, NPU_PAGE, 0));
	c->data[0] = 1234;
	EXPECT_EQ(1, copy_word(c, far, NPU_DATA + 4));
	EXPECT_EQ(1234, c->data[1]);
	EXPECT_EQ(1, copy_word(c, NPU_DATA, far + 8));
	EXPECT_EQ(1234, c->data[2]);
}

TEST_F(vm_bind, map_replaces)
{
	struct npu_client *c = &self->c;
	uint64_t va = NPU_VA * 2;
	int bo = npu_bo_create(c->fd, NPU_PAGE, 0, 0);
	uint32_t *map = npu_bo_map(c->fd, bo, NPU_PAGE);

	ASSERT_NE(MAP_FAILED, map);
	c->data[0] = 1;
	map[0] = 2;
	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, va, NPU_PAGE, NPU_PAGE, 0));
	EXPECT_EQ(1, copy_word(c, va, NPU_DATA + 4));
	EXPECT_EQ(1, c->data[1]);
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, va, 0, NPU_PAGE, 0));
	EXPECT_EQ(1, copy_word(c, va, NPU_DATA + 4));
	EXPECT_EQ(2, c->data[1]); /* no stale translation either */
}

TEST_F(vm_bind, unmapped_page_faults_with_its_address)
{
	struct npu_client *c = &self->c;
	uint64_t va = NPU_VA * 2;
	struct drm_npuedge_queue_get_state state = { .id = c->queue };

	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, va, NPU_PAGE, NPU_PAGE, 0));
	EXPECT_EQ(1, copy_word(c, va, NPU_DATA + 4));
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, va, NPU_PAGE));
	EXPECT_EQ(-EIO, copy_word(c, va + 0x40, NPU_DATA + 4));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, state.state);
	EXPECT_EQ(DRM_NPUEDGE_REASON_FAULT, state.reason);
	EXPECT_EQ(NE1_FAULT_MMU, state.fault);
	EXPECT_EQ(va + 0x40, state.fault_va);
	EXPECT_EQ(0, state.fault_cmd);
	EXPECT_EQ(2, state.fault_job);
	EXPECT_EQ(NE1_UNIT_LD, (state.fault_info & NE1_MMU_FAULT_UNIT) >> 12);
	EXPECT_EQ(-EIO, npu_submit(c->fd, c->queue, NPU_STREAM, 192, NPU_PARAMS, 0, 0));
}

TEST_F(vm_bind, read_only)
{
	struct npu_client *c = &self->c;
	uint64_t va = NPU_VA * 2;
	struct drm_npuedge_queue_get_state state = { .id = c->queue };

	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, va, NPU_PAGE, NPU_PAGE, DRM_NPUEDGE_BIND_READONLY));
	c->data[0] = 99;
	EXPECT_EQ(1, copy_word(c, va, NPU_DATA + 4));
	EXPECT_EQ(99, c->data[1]);
	EXPECT_EQ(-EIO, copy_word(c, NPU_DATA, va + 8));
	EXPECT_EQ(0, c->data[2]);
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
	EXPECT_EQ(NE1_FAULT_MMU, state.fault);
	EXPECT_EQ(va + 8, state.fault_va);
	EXPECT_EQ(NE1_MMU_READ_ONLY, (state.fault_info & NE1_MMU_FAULT_CODE) >> 16);
}

TEST_F(vm_bind, partial_unmap_of_a_large_mapping)
{
	struct npu_client *c = &self->c;
	uint64_t va = 1ull << 32, size = 6ull << 20, hole = va + (2ull << 20) + 5 * NPU_PAGE;
	int bo = npu_bo_create(c->fd, size, 0, 0);
	uint32_t *map = npu_bo_map(c->fd, bo, size);

	ASSERT_NE(MAP_FAILED, map);
	for (uint64_t i = 0; i < size / 4096; i++)
		map[i * 1024] = i;
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, va, 0, size, 0));
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, hole, 2 * NPU_PAGE));
	for (uint64_t i = 0; i < size / 4096; i += 37) {
		if (va + i * 4096 >= hole && va + i * 4096 < hole + 2 * NPU_PAGE)
			continue;
		ASSERT_EQ(1, copy_word(c, va + i * 4096, NPU_DATA + 4));
		ASSERT_EQ(i, c->data[1]);
	}
	EXPECT_EQ(1, copy_word(c, hole - NPU_PAGE, NPU_DATA + 4));
	EXPECT_EQ(1, copy_word(c, hole + 2 * NPU_PAGE, NPU_DATA + 4));
	EXPECT_EQ(-EIO, copy_word(c, hole, NPU_DATA + 4));
	npu_new_queue(c);
	EXPECT_EQ(-EIO, copy_word(c, hole + NPU_PAGE, NPU_DATA + 4));
	munmap(map, size);
}

TEST_F(vm_bind, unmap_of_nothing_and_of_several)
{
	struct npu_client *c = &self->c;
	uint64_t va = NPU_VA * 2;

	EXPECT_EQ(0, npu_unmap(c->fd, c->vm, va, 1ull << 30));
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, va + i * 3 * NPU_PAGE, 0, NPU_PAGE, 0));
	EXPECT_EQ(0, npu_unmap(c->fd, c->vm, va, 24 * NPU_PAGE));
	EXPECT_EQ(-EIO, copy_word(c, va + 21 * NPU_PAGE, NPU_DATA + 4));
}

TEST_F(vm_bind, private_bo_only_in_its_vm)
{
	struct npu_client *c = &self->c;
	int other = npu_vm_create(c->fd), bo = npu_bo_create(c->fd, NPU_PAGE, 0, other);

	ASSERT_GT(bo, 0);
	EXPECT_EQ(-EPERM, npu_map(c->fd, c->vm, bo, NPU_VA * 2, 0, NPU_PAGE, 0));
	EXPECT_EQ(0, npu_map(c->fd, other, bo, NPU_VA * 2, 0, NPU_PAGE, 0));
	EXPECT_EQ(0, npu_vm_destroy(c->fd, other));
}

TEST_F(vm_bind, mapping_outlives_the_handle)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, NPU_PAGE, 0, 0);
	uint32_t *map = npu_bo_map(c->fd, bo, NPU_PAGE);

	map[0] = 4711;
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, NPU_VA * 2, 0, NPU_PAGE, 0));
	munmap(map, NPU_PAGE);
	npu_bo_close(c->fd, bo);
	EXPECT_EQ(1, copy_word(c, NPU_VA * 2, NPU_DATA + 4));
	EXPECT_EQ(4711, c->data[1]);
}

TEST_F(vm_bind, vms_are_isolated)
{
	struct npu_client *c = &self->c;
	struct npu_client other;

	ASSERT_EQ(0, npu_client_init(&other));
	other.data[0] = 0xdead;
	ASSERT_EQ(0, npu_map(c->fd, c->vm, c->bo, NPU_VA * 2, 0, NPU_PAGE, 0));
	EXPECT_EQ(-EIO, copy_word(&other, NPU_VA * 2, NPU_DATA + 4)); /* mapped in the other VM only */
	EXPECT_EQ(1, copy_word(c, NPU_DATA, NPU_DATA + 4)); /* and the first client goes on */
	npu_client_fini(&other);
}

TEST_F(vm_bind, more_vms_than_hardware_has)
{
	struct npu_client *c = &self->c;
	struct npu_client clients[24];

	for (int i = 0; i < 24; i++) {
		ASSERT_EQ(0, npu_client_init(&clients[i]));
		clients[i].data[0] = 1000 + i;
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 24; i++) {
			ASSERT_EQ(1, copy_word(&clients[i], NPU_DATA, NPU_DATA + 4));
			ASSERT_EQ(1000 + i, clients[i].data[1]);
		}
	for (int i = 0; i < 24; i++)
		npu_client_fini(&clients[i]);
	EXPECT_EQ(1, copy_word(c, NPU_DATA, NPU_DATA + 4));
}

/* A buffer of 2 MiB pages, or -1 if the machine has none: the driver's own, or made of hugetlb. */
static int huge_bo(struct npu_client *c, uint64_t size)
{
	struct { uint32_t memfd, flags; uint64_t offset, size; } create = { .size = size };
	struct drm_prime_handle prime = { 0 };
	int bo = npu_bo_create(c->fd, size, 0, 0), memfd, device;
	uint64_t va = 1ull << 34, before = npu_vm_state(c->fd, c->vm).pte_writes;

	if (!npu_map(c->fd, c->vm, bo, va, 0, size, 0)) {
		uint64_t writes = npu_vm_state(c->fd, c->vm).pte_writes - before;

		npu_unmap(c->fd, c->vm, va, size);
		if (writes <= size / BIG + 2)
			return bo;
	}
	npu_bo_close(c->fd, bo);

	npu_write_text(NPU_BIG_PAGES, "8");
	memfd = memfd_create("npuedge", NPU_MFD_BIG | MFD_ALLOW_SEALING);
	device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
	if (memfd < 0 || device < 0 || ftruncate(memfd, size) || fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -1;
	create.memfd = memfd;
	prime.fd = ioctl(device, _IOW('u', 0x42, create), &create);
	close(device);
	close(memfd);
	if (prime.fd < 0 || npu_ioctl(c->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime))
		return -1;
	close(prime.fd);
	return prime.handle;
}

TEST_F(vm_bind, gigabyte_in_big_leaves)
{
	struct npu_client *c = &self->c;
	int bo = huge_bo(c, 2 * BIG);
	struct drm_npuedge_vm_bind_op *ops = calloc(512, sizeof(*ops));
	struct drm_npuedge_vm_get_state before, after;

	if (bo < 0)
		SKIP(return, "no memory in pages of 2 MiB");
	for (int i = 0; i < 512; i++) {
		ops[i].handle = bo;
		ops[i].va = (8ull << 30) + i * BIG;
		ops[i].size = BIG;
		ops[i].bo_offset = i % 2 * BIG;
	}
	before = npu_vm_state(c->fd, c->vm);
	ASSERT_EQ(0, npu_bind_ops(c->fd, c->vm, ops, 512));
	after = npu_vm_state(c->fd, c->vm);
	TH_LOG("1 GiB: %llu entries written", after.pte_writes - before.pte_writes);
	EXPECT_LE(after.pte_writes - before.pte_writes, 1200);
	EXPECT_EQ(512, after.mappings - before.mappings);
	EXPECT_EQ(1ull << 30, after.mapped_bytes - before.mapped_bytes);
	/* one more table of 512 big leaves */
	EXPECT_EQ(npu_table_bytes(), after.table_bytes - before.table_bytes);

	/* the same again costs nothing */
	ASSERT_EQ(0, npu_bind_ops(c->fd, c->vm, ops, 512));
	EXPECT_EQ(after.pte_writes, npu_vm_state(c->fd, c->vm).pte_writes);
	ASSERT_EQ(0, npu_unmap(c->fd, c->vm, 8ull << 30, 1ull << 30));
	after = npu_vm_state(c->fd, c->vm);
	EXPECT_EQ(before.mappings, after.mappings);
	EXPECT_EQ(before.table_bytes, after.table_bytes);
	free(ops);
}

/* Reads, again and again, what lies on both sides of a hole. */
static uint32_t around_stream(union ne1_cmd *s, uint32_t count, uint64_t below, uint64_t above)
{
	for (uint32_t i = 0; i < count; i++) {
		s[i] = npu_dma(NE1_OP_LD, i % 2 ? above + i * 64 % 65536 : below - i * 64 % 65536, 64, 0);
		s[i].dma.base = 1;
	}
	s[count] = npu_cmd(NE1_OP_END);
	return (count + 1) * NE1_CMD_SIZE;
}

TEST_F(vm_bind, hole_in_a_big_leaf_below_running_jobs)
{
	struct npu_client *c = &self->c;
	uint64_t va = 1ull << 35, hole = 5 * 65536ull, size;
	struct drm_npuedge_vm_get_state whole;
	int bo = huge_bo(c, BIG), holes = 0;

	if (bo < 0)
		SKIP(return, "no memory in pages of 2 MiB");
	ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, va, 0, BIG, 0));
	whole = npu_vm_state(c->fd, c->vm);
	c->params->base[1] = va;
	size = around_stream(c->stream, 12000, hole - 64, hole + 65536);
	for (int round = 0; round < 10; round++) {
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		do {
			ASSERT_EQ(0, npu_unmap(c->fd, c->vm, va + hole, 65536));
			EXPECT_EQ(whole.mappings + 1, npu_vm_state(c->fd, c->vm).mappings);
			ASSERT_EQ(0, npu_map(c->fd, c->vm, bo, va + hole, hole, 65536, 0));
			holes++;
		} while (npu_wait(c->fd, c->sync, 0) == -ETIME);
		ASSERT_EQ(1, npu_sync_status(c->fd, c->sync));
	}
	EXPECT_GE(holes, 10);
	/* it is one big leaf again */
	EXPECT_EQ(whole.table_bytes, npu_vm_state(c->fd, c->vm).table_bytes);
	EXPECT_EQ(whole.mapped_bytes, npu_vm_state(c->fd, c->vm).mapped_bytes);
}

#define KV_CHUNK	65536ull
#define KV_CHUNKS	64
#define KV_WINDOW	8
#define KV_FIRST	(1ull << 36)		/* the context */
#define KV_SHARED	(KV_FIRST + (1ull << 30)) /* another context with the same beginning */

/* One bind, or unbind, of a KV chunk after point @after of @sync; it is point @point of @binds. */
static int kv_bind(struct npu_client *c, struct drm_npuedge_vm_bind_op *ops, uint32_t count, int sync, int after,
		   int binds, int point)
{
	struct drm_npuedge_sync in = { sync, DRM_NPUEDGE_SYNC_TIMELINE, after };
	struct drm_npuedge_sync out = { binds, DRM_NPUEDGE_SYNC_TIMELINE, point };
	struct drm_npuedge_vm_bind bind = {
		.vm_id = c->vm, .flags = DRM_NPUEDGE_VM_BIND_ASYNC, .ops = { sizeof(*ops), count, (uintptr_t)ops },
		.in_syncs = { sizeof(in), after > 0, (uintptr_t)&in },
		.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
	};

	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_VM_BIND, &bind);
}

/* Job @step sums up nothing: it copies the first word of its chunk, by its second place if that is bound too. */
static int kv_job(struct npu_client *c, int step, int binds, int jobs)
{
	struct drm_npuedge_stream stream = { .va = NPU_STREAM + step * 192, .size = 192 };
	struct drm_npuedge_sync in = { binds, DRM_NPUEDGE_SYNC_TIMELINE, step + 1 };
	struct drm_npuedge_sync out = { jobs, DRM_NPUEDGE_SYNC_TIMELINE, step + 1 };
	struct drm_npuedge_job job = {
		.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS,
		.in_syncs = { sizeof(in), 1, (uintptr_t)&in }, .out_syncs = { sizeof(out), 1, (uintptr_t)&out },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { sizeof(job), 1, (uintptr_t)&job },
	};
	union ne1_cmd *s = c->stream + step * 3;

	npu_copy_stream(s, step, 4);
	s[0].dma.base = step % 4 ? 1 : 2;
	s[0].dma.offset = step * KV_CHUNK;
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

/* A context that grows chunk by chunk in a range of its own, shares its beginning, and forgets its past. */
TEST_F(vm_bind, kv_paging)
{
	struct npu_client *c = &self->c;
	int bo = npu_bo_create(c->fd, KV_CHUNKS * KV_CHUNK, 0, c->vm);
	int binds = npu_syncobj_create(c->fd), jobs = npu_syncobj_create(c->fd);
	uint8_t *map = npu_bo_map(c->fd, bo, KV_CHUNKS * KV_CHUNK);
	struct drm_npuedge_vm_get_state state;

	ASSERT_NE(MAP_FAILED, map);
	c->params->base[1] = KV_FIRST;
	c->params->base[2] = KV_SHARED;
	for (int i = 0; i < KV_CHUNKS; i++)
		*(uint32_t *)(map + i * KV_CHUNK) = 7000 + i;

	for (int i = 0; i < KV_CHUNKS; i++) {
		struct drm_npuedge_vm_bind_op ops[4];
		int n = 0, old = i - KV_WINDOW;

		memset(ops, 0, sizeof(ops));
		for (int second = 0; second < (i % 4 ? 1 : 2); second++)
			ops[n++] = (struct drm_npuedge_vm_bind_op){
				.handle = bo, .va = (second ? KV_SHARED : KV_FIRST) + i * KV_CHUNK,
				.size = KV_CHUNK, .bo_offset = i * KV_CHUNK,
			};
		for (int second = 0; old >= 0 && second < 2; second++)
			ops[n++] = (struct drm_npuedge_vm_bind_op){
				.op = DRM_NPUEDGE_BIND_UNMAP, .size = KV_CHUNK,
				.va = (second ? KV_SHARED : KV_FIRST) + old * KV_CHUNK,
			};
		/* the job that used what is unbound has ended; others run */
		ASSERT_EQ(0, kv_bind(c, ops, n, jobs, old + 1, binds, i + 1));
		ASSERT_EQ(0, kv_job(c, i, binds, jobs));
	}
	ASSERT_EQ(0, npu_wait_point(c->fd, jobs, KV_CHUNKS, 3 * NPU_WAIT_NS));
	for (int i = 0; i < KV_CHUNKS; i++)
		EXPECT_EQ(7000 + i, c->data[i]);

	state = npu_vm_state(c->fd, c->vm);
	EXPECT_EQ(DRM_NPUEDGE_VM_USABLE, state.state);
	EXPECT_EQ(1 + KV_WINDOW + KV_WINDOW / 4, state.mappings);
	EXPECT_EQ(-EIO, copy_word(c, KV_FIRST, NPU_DATA + 4));
	munmap(map, KV_CHUNKS * KV_CHUNK);
}

TEST_HARNESS_MAIN
