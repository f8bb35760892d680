// SPDX-License-Identifier: GPL-2.0-only
/**
 * DOC: Fault injection
 *
 * With CONFIG_FAULT_INJECTION_DEBUG_FS a folder per fault in the device's debugfs, as
 * Documentation/fault-injection/fault-injection.rst describes: fail_send, fail_reply, fail_tlb,
 * fail_boot, fail_post, fail_bind.  What is injected here is what the device, or a mistake of ours,
 * may do; what a device may do beyond that, only it, or a model of one, can.  The attributes are
 * shared by all devices.
 */

#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#include "npuedge_inject.h"

static DECLARE_FAULT_ATTR(npuedge_fail_send);
static DECLARE_FAULT_ATTR(npuedge_fail_reply);
static DECLARE_FAULT_ATTR(npuedge_fail_tlb);
static DECLARE_FAULT_ATTR(npuedge_fail_boot);
static DECLARE_FAULT_ATTR(npuedge_fail_post);
static DECLARE_FAULT_ATTR(npuedge_fail_bind);

static struct {
	const char *name;
	struct fault_attr *attr;
} npuedge_faults[NPUEDGE_INJECTS] = {
	[NPUEDGE_INJECT_SEND] = { "fail_send", &npuedge_fail_send },
	[NPUEDGE_INJECT_REPLY] = { "fail_reply", &npuedge_fail_reply },
	[NPUEDGE_INJECT_TLB] = { "fail_tlb", &npuedge_fail_tlb },
	[NPUEDGE_INJECT_BOOT] = { "fail_boot", &npuedge_fail_boot },
	[NPUEDGE_INJECT_POST] = { "fail_post", &npuedge_fail_post },
	[NPUEDGE_INJECT_BIND] = { "fail_bind", &npuedge_fail_bind },
};

/**
 * npuedge_inject() - whether something is to fail now
 * @where: what
 *
 * Any context.
 *
 * Return: true if so.
 */
bool npuedge_inject(enum npuedge_inject where)
{
	return should_fail(npuedge_faults[where].attr, 1);
}

/**
 * npuedge_inject_debugfs() - make the folders
 * @root: the device's debugfs
 */
void npuedge_inject_debugfs(struct dentry *root)
{
	for (u32 i = 0; i < NPUEDGE_INJECTS; i++)
		fault_create_debugfs_attr(npuedge_faults[i].name, root, npuedge_faults[i].attr);
}
