# SPDX-License-Identifier: MIT
libnpu-src += $(addprefix libnpu/cpu/,kernels.c kernels_scalar.c kernels_avx2.c pool.c plan.c exec.c \
	      matmul.c attention.c)
