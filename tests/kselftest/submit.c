// SPDX-License-Identifier: GPL-2.0
/* SUBMIT: jobs, batches, syncobjs in and out, and every way to get the arguments wrong. */
#include "kselftest_harness.h"
#include "npuedge.h"
#include "vgem.h"

FIXTURE(submit) {
	struct npu_client c;
};

FIXTURE_SETUP(submit)
{
	int ret = npu_client_init(&self->c);

	if (ret == -ENODEV)
		SKIP(return, "no npuedge device");
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(submit)
{
	npu_client_fini(&self->c);
}

TEST_F(submit, copy)
{
	struct npu_client *c = &self->c;
	uint32_t size = npu_copy_stream(c->stream, 256, 1024);

	for (int i = 0; i < 256; i++)
		c->data[i] = i * 0x01010101u;
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	EXPECT_EQ(0, memcmp(c->data, c->data + 256, 1024));
}

TEST_F(submit, profile)
{
	struct npu_client *c = &self->c;
	struct ne1_profile *profile = (void *)(c->data + 512);
	struct drm_npuedge_stream stream = { .va = NPU_STREAM };
	struct drm_npuedge_sync out = { .handle = c->sync };
	struct drm_npuedge_job job = {
		.streams = { .stride = sizeof(stream), .count = 1, .ptr = (uintptr_t)&stream },
		.params_va = NPU_PARAMS, .profile_va = NPU_DATA + 2048,
		.out_syncs = { .stride = sizeof(out), .count = 1, .ptr = (uintptr_t)&out },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(job), .count = 1, .ptr = (uintptr_t)&job },
	};

	stream.size = npu_copy_stream(c->stream, 256, 1024);
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(3, profile->commands);
	EXPECT_GT(profile->end_ns, profile->start_ns);
	EXPECT_GT(profile->cycles, 0);
	EXPECT_GE(profile->dram_rd_bytes, 1024);
	EXPECT_GE(profile->dram_wr_bytes, 1024);
}

TEST_F_TIMEOUT(submit, thousand_in_order, 120)
{
	struct npu_client *c = &self->c;

	/* job i copies word i to word i + 1: right only if they run in order, each once */
	memset(c->data, 0, NPU_PAGE);
	c->data[0] = 42;
	for (int i = 0; i < 1000; i++) {
		union ne1_cmd *s = c->stream + i * 3;

		npu_copy_stream(s, i + 1, 4);
		s[0].dma.offset = i * 4;
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM + i * 192, 192, NPU_PARAMS, 0, c->sync));
	}
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	for (int i = 0; i <= 1000; i++)
		ASSERT_EQ(42, c->data[i]);
}

TEST_F(submit, in_sync_of_another_queue)
{
	struct npu_client *c = &self->c;
	int second = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_LOW);
	int sync = npu_syncobj_create(c->fd), slow = npu_syncobj_create(c->fd);
	uint32_t size;

	ASSERT_GT(second, 0);
	c->data[0] = 5;
	size = npu_slow_stream(c->stream, 8);
	npu_copy_stream(c->stream + 9, 1, 4);
	npu_copy_stream(c->stream + 12, 2, 4);
	c->stream[12].dma.offset = 4;
	/* slow then 0 -> 1 on the first queue, 1 -> 2 on the second after it */
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, slow));
	ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM + 9 * 64, 192, NPU_PARAMS, 0, sync));
	ASSERT_EQ(0, npu_submit(c->fd, second, NPU_STREAM + 12 * 64, 192, NPU_PARAMS, sync, c->sync));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, 3 * NPU_WAIT_NS));
	EXPECT_EQ(5, c->data[2]);
	EXPECT_EQ(1, npu_sync_status(c->fd, slow));
}

TEST_F(submit, waits_for_an_unsignalled_timeline)
{
	struct npu_client *c = &self->c;
	int timeline = npu_syncobj_create(c->fd);
	uint64_t point = 7;
	struct drm_syncobj_timeline_array signal = {
		.handles = (uintptr_t)&timeline, .points = (uintptr_t)&point, .count_handles = 1,
	};
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = npu_copy_stream(c->stream, 1, 4) };
	struct drm_npuedge_sync in = { .handle = timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = 7 };
	struct drm_npuedge_sync out[2] = {
		{ .handle = timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = 9 }, { .handle = c->sync },
	};
	struct drm_npuedge_job job = {
		.streams = { .stride = sizeof(stream), .count = 1, .ptr = (uintptr_t)&stream },
		.params_va = NPU_PARAMS,
		.in_syncs = { .stride = sizeof(in), .count = 1, .ptr = (uintptr_t)&in },
		.out_syncs = { .stride = sizeof(out[0]), .count = 2, .ptr = (uintptr_t)out },
	};
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(job), .count = 1, .ptr = (uintptr_t)&job },
	};

	/* a point that nobody has promised is refused: fences must exist when they are waited for */
	EXPECT_EQ(-EINVAL, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &signal));
	c->data[0] = 11;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
	EXPECT_EQ(0, npu_wait_point(c->fd, timeline, 9, NPU_WAIT_NS));
	EXPECT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(11, c->data[1]);
}

TEST_F(submit, batch_with_inner_dependency)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_stream streams[2];
	struct drm_npuedge_sync inner = { .handle = npu_syncobj_create(c->fd) }, out = { .handle = c->sync };
	struct drm_npuedge_job jobs[2] = { { .params_va = NPU_PARAMS }, { .params_va = NPU_PARAMS } };
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(jobs[0]), .count = 2, .ptr = (uintptr_t)jobs },
	};

	npu_copy_stream(c->stream, 1, 4);
	npu_copy_stream(c->stream + 3, 2, 4);
	c->stream[3].dma.offset = 4;
	for (int i = 0; i < 2; i++) {
		streams[i] = (struct drm_npuedge_stream){ .va = NPU_STREAM + i * 192, .size = 192 };
		jobs[i].streams = (struct drm_npuedge_array){ sizeof(streams[0]), 1, (uintptr_t)&streams[i] };
	}
	jobs[0].out_syncs = (struct drm_npuedge_array){ sizeof(inner), 1, (uintptr_t)&inner };
	jobs[1].in_syncs = (struct drm_npuedge_array){ sizeof(inner), 1, (uintptr_t)&inner };
	jobs[1].out_syncs = (struct drm_npuedge_array){ sizeof(out), 1, (uintptr_t)&out };
	c->data[0] = 77;
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
	ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
	EXPECT_EQ(77, c->data[2]);
}

/* One call: a job signals @signal of a timeline, the next waits for @wait of it and signals the client's syncobj. */
static int submit_timeline_pair(struct npu_client *c, uint32_t timeline, uint64_t signal, uint64_t wait)
{
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = npu_copy_stream(c->stream, 1, 4) };
	struct drm_npuedge_sync sync[2] = {
		{ .handle = timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = signal },
		{ .handle = timeline, .flags = DRM_NPUEDGE_SYNC_TIMELINE, .point = wait },
	}, out = { .handle = c->sync };
	struct drm_npuedge_job jobs[2] = { { .params_va = NPU_PARAMS }, { .params_va = NPU_PARAMS } };
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(jobs[0]), .count = 2, .ptr = (uintptr_t)jobs },
	};

	for (int i = 0; i < 2; i++)
		jobs[i].streams = (struct drm_npuedge_array){ sizeof(stream), 1, (uintptr_t)&stream };
	jobs[0].out_syncs = (struct drm_npuedge_array){ sizeof(sync[0]), 1, (uintptr_t)&sync[0] };
	jobs[1].in_syncs = (struct drm_npuedge_array){ sizeof(sync[1]), 1, (uintptr_t)&sync[1] };
	jobs[1].out_syncs = (struct drm_npuedge_array){ sizeof(out), 1, (uintptr_t)&out };
	return npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit);
}

/* What an earlier job of the call signals is no reason not to wait for what somebody else does. */
TEST_F(submit, inner_timeline_beside_others)
{
	struct npu_client *c = &self->c;
	struct drm_syncobj_transfer transfer = { .dst_handle = npu_syncobj_create(c->fd), .dst_point = 5 };
	static const struct { uint64_t signal, wait; } points[] = { { 10, 5 }, { 15, 15 }, { 19, 17 } };
	uint32_t timeline = transfer.dst_handle, syncs[3];
	struct vgem v;

	ASSERT_EQ(0, vgem_init(&v, 4096));
	ASSERT_EQ(0, vgem_begin(&v, VGEM_WRITE));
	transfer.src_handle = vgem_syncobj(c->fd, v.dmabuf);
	ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &transfer));

	/*
	 * Point 5 is there, and not signalled: neither it nor what comes after it is reached, be it brought by the job
	 * before, or passed by it.  Each on a queue of its own, where nothing else is waited for.
	 */
	for (int i = 0; i < 3; i++) {
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(c->queue, 0);
		c->sync = syncs[i] = npu_syncobj_create(c->fd);
		ASSERT_EQ(0, submit_timeline_pair(c, timeline, points[i].signal, points[i].wait));
		EXPECT_EQ(-ETIME, npu_wait(c->fd, c->sync, 200000000)) {
			TH_LOG("wait for %llu", (unsigned long long)points[i].wait);
		}
	}
	ASSERT_EQ(0, vgem_end(&v));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, npu_wait(c->fd, syncs[i], NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, syncs[i]));
	}
	/* the very point, and one that nobody but the job beyond it will bring */
	for (uint64_t point = 20; point < 50; point += 10) {
		ASSERT_EQ(0, submit_timeline_pair(c, timeline, point, point - (point > 20)));
		EXPECT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		EXPECT_EQ(1, npu_sync_status(c->fd, c->sync));
	}
	/* beyond what it brings */
	EXPECT_EQ(-EINVAL, submit_timeline_pair(c, timeline, 60, 61));
	vgem_fini(&v);
}

TEST_F(submit, all_or_nothing)
{
	struct npu_client *c = &self->c;

	/* a bad second job: the first does not run, its out-syncobj stays empty */
	for (int bad = 0; bad < 3; bad++) {
		struct drm_npuedge_stream streams[3];
		struct drm_npuedge_sync out = { .handle = npu_syncobj_create(c->fd) };
		struct drm_npuedge_job jobs[3];
		struct drm_npuedge_submit submit = {
			.queue_id = c->queue, .jobs = { .stride = sizeof(jobs[0]), .count = 3, .ptr = (uintptr_t)jobs },
		};

		npu_copy_stream(c->stream, 1, 4);
		c->data[0] = 3;
		c->data[1] = 0;
		for (int i = 0; i < 3; i++) {
			streams[i] = (struct drm_npuedge_stream){ .va = NPU_STREAM, .size = 192 };
			jobs[i] = (struct drm_npuedge_job){
				.streams = { sizeof(streams[0]), 1, (uintptr_t)&streams[i] },
				.params_va = NPU_PARAMS,
				.out_syncs = { sizeof(out), 1, (uintptr_t)&out },
			};
		}
		streams[bad].size = 100;
		EXPECT_EQ(-EINVAL, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
		EXPECT_EQ(-EINVAL, npu_wait(c->fd, out.handle, 0)); /* no fence */
		usleep(50000);
		EXPECT_EQ(0, c->data[1]);
	}
}

TEST_F(submit, bad_arguments)
{
	struct npu_client *c = &self->c;
	struct drm_npuedge_stream stream;
	struct drm_npuedge_sync sync;
	struct drm_npuedge_job job;
	struct drm_npuedge_submit submit;

#define BAD(error, ...) do { \
		stream = (struct drm_npuedge_stream){ .va = NPU_STREAM, .size = 192 }; \
		sync = (struct drm_npuedge_sync){ .handle = c->sync }; \
		job = (struct drm_npuedge_job){ \
			.streams = { sizeof(stream), 1, (uintptr_t)&stream }, .params_va = NPU_PARAMS, \
			.out_syncs = { sizeof(sync), 1, (uintptr_t)&sync }, \
		}; \
		submit = (struct drm_npuedge_submit){ \
			.queue_id = c->queue, .jobs = { sizeof(job), 1, (uintptr_t)&job }, \
		}; \
		__VA_ARGS__; \
		EXPECT_EQ(error, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit)) { \
			TH_LOG("%s", #__VA_ARGS__); \
		} \
	} while (0)

	npu_copy_stream(c->stream, 1, 4);
	BAD(-ENOENT, submit.queue_id = 0);
	BAD(-ENOENT, submit.queue_id = ~0u);
	BAD(-EINVAL, submit.flags = 1);
	BAD(-EINVAL, submit.jobs.count = 0);
	BAD(-E2BIG, submit.jobs.count = 65);
	BAD(-E2BIG, submit.jobs.count = ~0u);
	BAD(-EINVAL, submit.jobs.stride = 8);
	BAD(-EINVAL, submit.jobs.stride = 0);
	BAD(-EFAULT, submit.jobs.ptr = 64);
	BAD(-EINVAL, job.flags = 2);
	BAD(-EINVAL, job.pad = 1);
	BAD(-EINVAL, job.streams.count = 0);
	BAD(-EINVAL, job.streams.count = 5);
	BAD(-EINVAL, job.streams.stride = 4);
	BAD(-EFAULT, job.streams.ptr = 64);
	BAD(-EINVAL, stream.va = NPU_STREAM + 32);
	BAD(-EINVAL, stream.va = 1ull << 39);
	BAD(-EINVAL, stream.va = (1ull << 39) - 64);
	BAD(-EINVAL, stream.size = 0);
	BAD(-EINVAL, stream.size = 100);
	BAD(-EINVAL, stream.pad = 1);
	BAD(-EINVAL, job.params_va = NPU_PARAMS + 8);
	BAD(-EINVAL, job.params_va = 1ull << 40);
	BAD(-EINVAL, job.params_va = 0);
	BAD(-EINVAL, job.profile_va = 4);
	BAD(-EINVAL, job.profile_va = 1ull << 63);
	BAD(-E2BIG, job.out_syncs.count = 257);
	BAD(-EINVAL, job.out_syncs.stride = 3);
	BAD(-ENOENT, sync.handle = 0);
	BAD(-ENOENT, sync.handle = 9999);
	BAD(-EINVAL, sync.flags = 2);
	BAD(-EINVAL, sync.point = 1);
	BAD(-EINVAL, sync.flags = DRM_NPUEDGE_SYNC_TIMELINE);
	BAD(-ENOENT, job.in_syncs = job.out_syncs; sync.handle = 12345);
#undef BAD
}

TEST_F(submit, strides_of_other_versions)
{
	struct npu_client *c = &self->c;
	struct { struct drm_npuedge_job job; uint64_t later; } jobs[2];
	struct drm_npuedge_stream stream = { .va = NPU_STREAM, .size = npu_copy_stream(c->stream, 1, 4) };
	struct drm_npuedge_submit submit = {
		.queue_id = c->queue, .jobs = { .stride = sizeof(jobs[0]), .count = 2, .ptr = (uintptr_t)jobs },
	};

	/* a newer caller: extra bytes that are zero are fine, others are not */
	memset(jobs, 0, sizeof(jobs));
	for (int i = 0; i < 2; i++) {
		jobs[i].job.streams = (struct drm_npuedge_array){ sizeof(stream), 1, (uintptr_t)&stream };
		jobs[i].job.params_va = NPU_PARAMS;
	}
	EXPECT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
	jobs[1].later = 1;
	EXPECT_EQ(-E2BIG, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_SUBMIT, &submit));
}

TEST_F(submit, hostile_streams_fault_and_name_the_cause)
{
	static const struct { uint8_t opcode; enum ne1_fault fault; } cases[] = {
		{ 0xee, NE1_FAULT_OPCODE }, { NE1_OP_MM, NE1_FAULT_FIELD },
	};
	struct npu_client *c = &self->c;
	struct drm_npuedge_queue_get_state state;

	for (size_t i = 0; i < 4; i++) {
		enum ne1_fault want;
		uint32_t size = 64;

		if (i < 2) {
			c->stream[0] = npu_cmd(cases[i].opcode);
			want = cases[i].fault;
		} else if (i == 2) {	/* no END */
			c->stream[0] = npu_cmd(NE1_OP_NOP);
			want = NE1_FAULT_STREAM;
		} else {		/* waits for what never comes */
			c->stream[0] = npu_dma(NE1_OP_LD, 0, 64, 0);
			c->stream[0].hdr.wait[0] = 3;
			c->stream[1] = npu_cmd(NE1_OP_END);
			size = 128;
			want = NE1_FAULT_DEADLOCK;
		}
		ASSERT_EQ(0, npu_submit(c->fd, c->queue, NPU_STREAM, size, NPU_PARAMS, 0, c->sync));
		ASSERT_EQ(0, npu_wait(c->fd, c->sync, NPU_WAIT_NS));
		EXPECT_EQ(-EIO, npu_sync_status(c->fd, c->sync));
		state = (struct drm_npuedge_queue_get_state){ .id = c->queue };
		ASSERT_EQ(0, npu_ioctl(c->fd, DRM_IOCTL_NPUEDGE_QUEUE_GET_STATE, &state));
		EXPECT_EQ(DRM_NPUEDGE_QUEUE_GUILTY, state.state);
		EXPECT_EQ(want, state.fault) {
			TH_LOG("case %zu", i);
		}
		npu_queue_destroy(c->fd, c->queue);
		c->queue = npu_queue_create(c->fd, c->vm, DRM_NPUEDGE_PRIORITY_NORMAL);
		ASSERT_GT(c->queue, 0);
	}
}

TEST_F(submit, jobs_behind_a_fault_are_cancelled)
{
	struct npu_client *c = &self->c;
	int syncs[4];

	c->stream[0] = npu_cmd(0xee);
	npu_copy_stream(c->stream + 1, 1, 4);
	c->data[0] = 9;
	c->data[1] = 0;
	for (int i = 0; i < 4; i++) {
		syncs[i] = npu_syncobj_create(c->fd);
		int ret = npu_submit(c->fd, c->queue, NPU_STREAM + !!i * 64, i ? 192 : 64, NPU_PARAMS, 0, syncs[i]);

		if (ret == -EIO && i) { /* the fault was already known */
			syncs[i] = -1;
			continue;
		}
		ASSERT_EQ(0, ret);
	}
	for (int i = 0; i < 4; i++) {
		if (syncs[i] < 0)
			continue;
		ASSERT_EQ(0, npu_wait(c->fd, syncs[i], NPU_WAIT_NS));
		EXPECT_EQ(i ? -ECANCELED : -EIO, npu_sync_status(c->fd, syncs[i]));
	}
	EXPECT_EQ(0, c->data[1]);
}

TEST_HARNESS_MAIN
