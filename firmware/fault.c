/* SPDX-License-Identifier: MIT */
#include "fault.h"

#include "hal.h"
#include "power.h"

bool fault_record(struct ne1_job_result *result, unsigned int core, unsigned int stream)
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
	result->core = stream;
	return first;
}

bool fault_is_expected(const struct queue *q)
{
	return q->waiting == QUEUE_RESET || q->waiting == QUEUE_DESTROY || power_closing();
}

void fault_check(struct queue *q)
{
	if (q->result.fault != NE1_FAULT_NONE && !fault_is_expected(q))
		queue_fault(q, &q->result);
}

void fault_hung(struct queue *q)
{
	if (power_closing())
		power_hung();
	else if (q->waiting != QUEUE_NO_OP)
		queue_hung(q);
	else if (q->result.fault != NE1_FAULT_NONE)
		queue_fault(q, &q->result);
}
