# SPDX-License-Identifier: MIT
libnpu-src += $(addprefix libnpu/cpu/,kernels.c kernels_scalar.c kernels_avx2.c pool.c plan.c exec.c \
	      matmul.c attention.c)

# Blocks of registers are arrays: their loops have to be unrolled.
CFLAGS_libnpu/cpu/kernels_avx2 := -O3
CFLAGS_libnpu/cpu/kernels_scalar := -O3
