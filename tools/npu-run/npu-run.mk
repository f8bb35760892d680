# SPDX-License-Identifier: MIT
# npu-run: a language model answers from the command line.

npu-run-src := $(addprefix tools/npu-run/,main.c options.c exit.c input.c process.c \
	       answer.c nll.c report.c)
npu-run-obj := $(npu-run-src:%.c=$(O)/%.o)
tool-programs += $(O)/npu-run

$(O)/npu-run: $(npu-run-obj) $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -ljansson $(LDLIBS)
