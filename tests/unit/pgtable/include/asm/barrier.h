/* SPDX-License-Identifier: MIT */
#ifndef SHIM_ASM_BARRIER_H
#define SHIM_ASM_BARRIER_H

#define dma_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#endif
