# SPDX-License-Identifier: MIT
libnpu-src += $(addprefix libnpu/graph/,graph.c ops.c fuse.c dump.c dtype.c llama_hparams.c \
	      llama_consts.c llama_graph.c)
