/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM npuedge

#if !defined(NPUEDGE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NPUEDGE_TRACE_H

#include <linux/tracepoint.h>

#include <drm/npuedge_accel.h>

#include "npuedge_bind.h"
#include "npuedge_device.h"
#include "npuedge_job.h"
#include "npuedge_queue.h"
#include "npuedge_reset.h"
#include "npuedge_vm.h"

/**
 * DOC: Tracepoints
 *
 * Names and fields are stable; later versions may append fields.
 *
 * - npuedge_job_submit, npuedge_job_run, npuedge_job_done: queue (firmware's number), context (of
 *   the queue's fences), job (number in its queue), cores, error (0 or why it ended so);
 * - npuedge_vm_bind: vm (firmware's number), map or unmap, va, size, error;
 * - npuedge_reset: count (resets so far), reason, context (of the queue that is the cause, or 0),
 *   error (0, or why the device is lost).
 */

/* A job is named by its queue's fence context and its number there. */
DECLARE_EVENT_CLASS(npuedge_job,
		    TP_PROTO(struct npuedge_job *job, u64 number, int error),
		    TP_ARGS(job, number, error),
		    TP_STRUCT__entry(__field(u64, context)
				     __field(u64, number)
				     __field(u32, queue)
				     __field(u32, cores)
				     __field(int, error)
		    ),
		    TP_fast_assign(__entry->context = job->queue->fence_context;
				   __entry->number = number;
				   __entry->queue = job->queue->index;
				   __entry->cores = job->cores;
				   __entry->error = error;
		    ),
		    TP_printk("queue=%u context=%llu job=%llu cores=%u error=%d", __entry->queue,
			      __entry->context, __entry->number, __entry->cores, __entry->error)
);

DEFINE_EVENT(npuedge_job, npuedge_job_submit,
	     TP_PROTO(struct npuedge_job *job, u64 number, int error),
	     TP_ARGS(job, number, error));
DEFINE_EVENT(npuedge_job, npuedge_job_run,
	     TP_PROTO(struct npuedge_job *job, u64 number, int error),
	     TP_ARGS(job, number, error));
DEFINE_EVENT(npuedge_job, npuedge_job_done,
	     TP_PROTO(struct npuedge_job *job, u64 number, int error),
	     TP_ARGS(job, number, error));

TRACE_EVENT(npuedge_vm_bind,
	    TP_PROTO(const struct npuedge_bind *bind, int error),
	    TP_ARGS(bind, error),
	    TP_STRUCT__entry(__field(u64, va)
			     __field(u64, size)
			     __field(u32, vm)
			     __field(bool, map)
			     __field(int, error)
	    ),
	    TP_fast_assign(__entry->va = bind->va;
			   __entry->size = bind->size;
			   __entry->vm = bind->vm->id;
			   __entry->map = bind->obj;
			   __entry->error = error;
	    ),
	    TP_printk("vm=%u %s va=%#llx size=%#llx error=%d", __entry->vm,
		      __entry->map ? "map" : "unmap", __entry->va,
		      __entry->size, __entry->error)
);

TRACE_EVENT(npuedge_reset,
	    TP_PROTO(u32 count, const struct npuedge_queue *guilty, u32 reason, int error),
	    TP_ARGS(count, guilty, reason, error),
	    TP_STRUCT__entry(__field(u64, context)
			     __field(u32, count)
			     __field(u32, reason)
			     __field(int, error)
	    ),
	    TP_fast_assign(__entry->context = guilty ? guilty->fence_context : 0;
			   __entry->count = count;
			   __entry->reason = reason;
			   __entry->error = error;
	    ),
	    TP_printk("count=%u reason=%s context=%llu error=%d", __entry->count,
		      __print_symbolic(__entry->reason,
				       { NPUEDGE_RESET_ASKED, "asked" },
				       { NPUEDGE_RESET_HANG, "hang" },
				       { NPUEDGE_RESET_FATAL, "fatal" },
				       { NPUEDGE_RESET_PANIC, "panic" },
				       { NPUEDGE_RESET_MESSAGE, "message" },
				       { NPUEDGE_RESET_PROTOCOL, "protocol" },
				       { NPUEDGE_RESET_TLB, "tlb" },
				       { NPUEDGE_RESET_BUS, "bus" }),
		      __entry->context, __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE npuedge_trace
#include <trace/define_trace.h>
