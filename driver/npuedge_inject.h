/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NPUEDGE_INJECT_H
#define NPUEDGE_INJECT_H

#include <linux/types.h>

struct dentry;

/**
 * enum npuedge_inject - places where a fault can be injected
 */
enum npuedge_inject {
	/** @NPUEDGE_INJECT_SEND: a message finds no room for ever */
	NPUEDGE_INJECT_SEND,
	/** @NPUEDGE_INJECT_REPLY: the reply to a message does not come */
	NPUEDGE_INJECT_REPLY,
	/** @NPUEDGE_INJECT_TLB: a TLB invalidation does not end */
	NPUEDGE_INJECT_TLB,
	/** @NPUEDGE_INJECT_BOOT: firmware does not start */
	NPUEDGE_INJECT_BOOT,
	/** @NPUEDGE_INJECT_POST: the doorbell of a job is not rung */
	NPUEDGE_INJECT_POST,
	/** @NPUEDGE_INJECT_BIND: a change of an address space fails when it is made */
	NPUEDGE_INJECT_BIND,
	/** @NPUEDGE_INJECTS: their number */
	NPUEDGE_INJECTS,
};

#ifdef CONFIG_FAULT_INJECTION
bool npuedge_inject(enum npuedge_inject where);
void npuedge_inject_debugfs(struct dentry *root);
#else
static inline bool npuedge_inject(enum npuedge_inject where)
{
	return false;
}

static inline void npuedge_inject_debugfs(struct dentry *root)
{
}
#endif

#endif
