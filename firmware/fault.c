/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include "hal.h"
#include "power.h"

bool fault_record(struct ne1_job_result *result, unsigned int core)
{
	uint32_t regs = NE1_MC_CORE(core);
	uint32_t fault = hal_read(regs + NE1_MC_CORE_FAULT_CODE);
	bool first = result->fault == NE1_FAULT_NONE;

	/* Ended neither well nor with a reason: the job cannot count as done. */
	if (fault == NE1_FAULT_NONE)
		fault = NE1_FAULT_STOPPED;
	/* After the first fault, the one to report, the job's other cores are stopped. */
	if (!first && (result->fault != NE1_FAULT_STOPPED || fault == NE1_FAULT_STOPPED))
		return false;
	result->fault = fault;
	result->cmd = hal_read(regs + NE1_MC_CORE_FAULT_CMD);
	result->va = hal_read64(regs + NE1_MC_CORE_FAULT_VA_LO);
	result->info = hal_read(regs + NE1_MC_CORE_FAULT_INFO);
	result->core = core;
	return first;
}

void fault_check(struct queue *q)
{
	bool stopping = q->waiting == QUEUE_RESET || q->waiting == QUEUE_DESTROY || power_closing();

	if (q->result.fault != NE1_FAULT_NONE && !stopping)
		queue_fault(q, &q->result);
}
