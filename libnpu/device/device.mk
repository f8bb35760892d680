# SPDX-License-Identifier: MIT
libnpu-src += $(addprefix libnpu/device/,device.c memory.c va.c queue.c fault.c \
	      drm.c drm_open.c drm_queue.c sim.c sim_mem.c sim_queue.c)
