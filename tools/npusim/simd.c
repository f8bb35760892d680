// SPDX-License-Identifier: MIT
#include "simd.h"

#include <stdatomic.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static bool has_avx2(void)
{
	unsigned int a, b, c, d;

	/* Older compilers do not know F16C by name. */
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

static _Atomic(const struct sim_simd *) selected;

const struct sim_simd *sim_simd_table(enum sim_simd_level level)
{
#if defined(__x86_64__)
	if ((level == SIM_SIMD_AVX2 || level == SIM_SIMD_BEST) && has_avx2())
		return &sim_simd_avx2;
#elif defined(__aarch64__)
	if (level == SIM_SIMD_NEON || level == SIM_SIMD_BEST)
		return &sim_simd_neon;
#endif
	if (level == SIM_SIMD_SCALAR || level == SIM_SIMD_BEST)
		return &sim_simd_scalar;
	return NULL;
}

bool sim_simd_select(enum sim_simd_level level)
{
	const struct sim_simd *table = sim_simd_table(level);

	if (!table)
		return false;
	atomic_store(&selected, table);
	return true;
}

const struct sim_simd *sim_simd_selected(void)
{
	const struct sim_simd *table = atomic_load(&selected);

	return table ? table : sim_simd_table(SIM_SIMD_BEST);
}
