// SPDX-License-Identifier: MIT
#include "device/fault.h"

#include <stddef.h>

#include "error.h"
#include "ne1_names.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static const char *const fault_names[] = NE1_FAULT_NAMES;
static const char *const unit_names[] = NE1_UNIT_NAMES;
static const char *const mmu_names[] = NE1_MMU_NAMES;

static const char *name_of(const char *const *names, size_t n, uint32_t i)
{
	return i < n && names[i] ? names[i] : "?";
}

npu_status npu_fail_fault(uint64_t job, const struct job_fault *f)
{
	const char *unit = name_of(unit_names, ARRAY_SIZE(unit_names),
				   (f->info & NE1_MMU_FAULT_UNIT) >> 12);
	const char *fault = name_of(fault_names, ARRAY_SIZE(fault_names), f->fault);

	if (f->fault == NE1_FAULT_MMU)
		return npu_fail(NPU_ERR_FAULT, "job %llu: %s (%s) at 0x%llx, %s by %s, command %u",
				(unsigned long long)job, fault,
				name_of(mmu_names, ARRAY_SIZE(mmu_names),
					(f->info & NE1_MMU_FAULT_CODE) >> 16),
				(unsigned long long)f->va,
				f->info & NE1_MMU_FAULT_WRITE ? "write" : "read", unit, f->cmd);
	return npu_fail(NPU_ERR_FAULT, "job %llu: %s (fault %u) in %s, command %u",
			(unsigned long long)job, fault, f->fault, unit, f->cmd);
}
