// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of the interface: an offset never changes, structures only grow at the end, lines are only
 * added.
 * tests/kselftest/layout compiles it for 32 and 64 bits, and with a warning for each hole.
 */
#include <drm/npuedge_accel.h>

#define SIZE(type, size) \
	_Static_assert(sizeof(struct drm_npuedge_##type) == (size), "size of " #type)
#define AT(type, member, offset) \
	_Static_assert(__builtin_offsetof(struct drm_npuedge_##type, member) == (offset), #type "." #member)
#define NUMBER(call, number) \
	_Static_assert(DRM_NPUEDGE_##call == (number) && \
		       (DRM_IOCTL_NPUEDGE_##call & 0xff) == 0x40 + (number), "number of " #call)

NUMBER(DEV_QUERY, 0x00);
NUMBER(BO_CREATE, 0x01);
NUMBER(BO_MMAP_OFFSET, 0x02);
NUMBER(VM_CREATE, 0x03);
NUMBER(VM_DESTROY, 0x04);
NUMBER(VM_BIND, 0x05);
NUMBER(QUEUE_CREATE, 0x06);
NUMBER(QUEUE_DESTROY, 0x07);
NUMBER(QUEUE_GET_STATE, 0x08);
NUMBER(SUBMIT, 0x09);
NUMBER(BO_SYNC, 0x0a);
NUMBER(BO_MADVISE, 0x0b);
NUMBER(BO_SET_LABEL, 0x0c);
NUMBER(VM_GET_STATE, 0x0d);
NUMBER(PERFMON_CREATE, 0x0e);
NUMBER(PERFMON_DESTROY, 0x0f);
NUMBER(PERFMON_READ, 0x10);
NUMBER(EVENTS, 0x11);

SIZE(array, 16);
AT(array, stride, 0);
AT(array, count, 4);
AT(array, ptr, 8);

SIZE(dev_query, 16);
AT(dev_query, type, 0);
AT(dev_query, size, 4);
AT(dev_query, pointer, 8);

SIZE(chip_info, 72);
AT(chip_info, contract_version, 0);
AT(chip_info, cores, 4);
AT(chip_info, sram_bytes, 8);
AT(chip_info, macs_per_cycle, 12);
AT(chip_info, vx_lanes, 16);
AT(chip_info, formats, 20);
AT(chip_info, freq_max_khz, 24);
AT(chip_info, dram_bw_mbps, 28);
AT(chip_info, queue_limit, 32);
AT(chip_info, queue_depth, 36);
AT(chip_info, va_start, 40);
AT(chip_info, va_end, 48);
AT(chip_info, name, 56);

SIZE(fw_info, 64);
AT(fw_info, version, 0);
AT(fw_info, abi_version, 4);
AT(fw_info, build, 8);

SIZE(telemetry, 48);
AT(telemetry, time_ns, 0);
AT(telemetry, energy_uj, 8);
AT(telemetry, dram_rd_bytes, 16);
AT(telemetry, dram_wr_bytes, 24);
AT(telemetry, temp_die_mc, 32);
AT(telemetry, temp_board_mc, 36);
AT(telemetry, freq_khz, 40);
AT(telemetry, pad, 44);

SIZE(bo_create, 24);
AT(bo_create, size, 0);
AT(bo_create, flags, 8);
AT(bo_create, vm_id, 12);
AT(bo_create, handle, 16);
AT(bo_create, pad, 20);

SIZE(bo_mmap_offset, 16);
AT(bo_mmap_offset, handle, 0);
AT(bo_mmap_offset, pad, 4);
AT(bo_mmap_offset, offset, 8);

SIZE(vm_create, 8);
AT(vm_create, flags, 0);
AT(vm_create, id, 4);

SIZE(vm_destroy, 8);
AT(vm_destroy, id, 0);
AT(vm_destroy, pad, 4);

SIZE(vm_bind_op, 40);
AT(vm_bind_op, op, 0);
AT(vm_bind_op, flags, 4);
AT(vm_bind_op, handle, 8);
AT(vm_bind_op, pad, 12);
AT(vm_bind_op, va, 16);
AT(vm_bind_op, size, 24);
AT(vm_bind_op, bo_offset, 32);

SIZE(vm_bind, 56);
AT(vm_bind, vm_id, 0);
AT(vm_bind, flags, 4);
AT(vm_bind, ops, 8);
AT(vm_bind, in_syncs, 24);
AT(vm_bind, out_syncs, 40);

SIZE(queue_create, 16);
AT(queue_create, vm_id, 0);
AT(queue_create, priority, 4);
AT(queue_create, flags, 8);
AT(queue_create, id, 12);

SIZE(queue_destroy, 8);
AT(queue_destroy, id, 0);
AT(queue_destroy, pad, 4);

SIZE(queue_get_state, 64);
AT(queue_get_state, id, 0);
AT(queue_get_state, state, 4);
AT(queue_get_state, reason, 8);
AT(queue_get_state, fault, 12);
AT(queue_get_state, fault_va, 16);
AT(queue_get_state, fault_cmd, 24);
AT(queue_get_state, fault_info, 28);
AT(queue_get_state, fault_job, 32);
AT(queue_get_state, busy_ns, 40);
AT(queue_get_state, completed, 48);
AT(queue_get_state, preempted, 56);

SIZE(sync, 16);
AT(sync, handle, 0);
AT(sync, flags, 4);
AT(sync, point, 8);

SIZE(stream, 16);
AT(stream, va, 0);
AT(stream, size, 8);
AT(stream, pad, 12);

SIZE(job, 88);
AT(job, streams, 0);
AT(job, params_va, 16);
AT(job, profile_va, 24);
AT(job, in_syncs, 32);
AT(job, out_syncs, 48);
AT(job, flags, 64);
AT(job, pad, 68);
AT(job, bos, 72);

SIZE(submit, 24);
AT(submit, queue_id, 0);
AT(submit, flags, 4);
AT(submit, jobs, 8);

SIZE(memory_info, 64);
AT(memory_info, total_bytes, 0);
AT(memory_info, resident_bytes, 8);
AT(memory_info, purgeable_bytes, 16);
AT(memory_info, imported_bytes, 24);
AT(memory_info, evicted_bytes, 32);
AT(memory_info, purged_bytes, 40);
AT(memory_info, table_bytes, 48);
AT(memory_info, buffers, 56);

SIZE(limits, 56);
AT(limits, jobs_per_submit, 0);
AT(limits, syncs_per_job, 4);
AT(limits, bos_per_job, 8);
AT(limits, ops_per_bind, 12);
AT(limits, label_bytes, 16);
AT(limits, job_timeout_ms, 20);
AT(limits, perfmons, 24);
AT(limits, events, 28);
AT(limits, queues_per_user, 32);
AT(limits, vms, 36);
AT(limits, counters, 40);
AT(limits, bind_align, 48);

SIZE(bo_sync, 24);
AT(bo_sync, handle, 0);
AT(bo_sync, flags, 4);
AT(bo_sync, offset, 8);
AT(bo_sync, size, 16);

SIZE(bo_madvise, 16);
AT(bo_madvise, handle, 0);
AT(bo_madvise, advice, 4);
AT(bo_madvise, retained, 8);
AT(bo_madvise, pad, 12);

SIZE(bo_set_label, 16);
AT(bo_set_label, handle, 0);
AT(bo_set_label, size, 4);
AT(bo_set_label, label, 8);

SIZE(vm_get_state, 40);
AT(vm_get_state, id, 0);
AT(vm_get_state, state, 4);
AT(vm_get_state, mapped_bytes, 8);
AT(vm_get_state, table_bytes, 16);
AT(vm_get_state, mappings, 24);
AT(vm_get_state, pte_writes, 32);

SIZE(bo_use, 8);
AT(bo_use, handle, 0);
AT(bo_use, flags, 4);

SIZE(perfmon_create, 16);
AT(perfmon_create, queue_id, 0);
AT(perfmon_create, flags, 4);
AT(perfmon_create, id, 8);
AT(perfmon_create, pad, 12);

SIZE(perfmon_destroy, 8);
AT(perfmon_destroy, id, 0);
AT(perfmon_destroy, pad, 4);

SIZE(perfmon_value, 16);
AT(perfmon_value, counter, 0);
AT(perfmon_value, pad, 4);
AT(perfmon_value, value, 8);

SIZE(perfmon_read, 24);
AT(perfmon_read, id, 0);
AT(perfmon_read, flags, 4);
AT(perfmon_read, values, 8);

SIZE(event, 32);
AT(event, type, 0);
AT(event, length, 4);
AT(event, time_ns, 8);
AT(event, object, 16);
AT(event, dropped, 20);
AT(event, value, 24);

SIZE(events, 8);
AT(events, mask, 0);
AT(events, pad, 4);
