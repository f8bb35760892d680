// SPDX-License-Identifier: MIT
#include "kernels.h"

const struct cpu_kernels *npu_cpu_kernels(void)
{
	const struct cpu_kernels *avx2 = npu_cpu_kernels_avx2();

	return avx2 ? avx2 : &npu_cpu_kernels_scalar;
}
