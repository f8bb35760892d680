# SPDX-License-Identifier: MIT
# Model files in: GGUF reader, dequantiser.

libnpu-src += libnpu/import/gguf.c libnpu/import/gguf_cursor.c libnpu/import/gguf_value.c \
	      libnpu/import/tensor_type.c libnpu/import/dequant.c
