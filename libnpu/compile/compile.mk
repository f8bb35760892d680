# SPDX-License-Identifier: MIT
libnpu-src += $(addprefix libnpu/compile/,pack.c weights.c kv.c place.c node.c tune.c plan.c \
	      stream.c track.c history.c emit.c emit_mm.c emit_vx.c emit_yield.c emit_attn.c restore.c ring.c program.c \
	      max_tokens.c disasm.c dump.c)
