# SPDX-License-Identifier: MIT
# GGUF reader, tokenizer, chat template, sampler: linked against these stages alone.

llm-stages := $(patsubst %.c,$(O)/%.o,$(filter libnpu/import/% libnpu/llm/% libnpu/error.c,$(libnpu-src)))
llm-tests := $(addprefix $(O)/tests/unit/,gguf)
gguf-dump := $(O)/tests/unit/gguf_dump

unit-tests += $(llm-tests)
script-tests += tests/unit/gguf_dequant
test-programs += $(gguf-dump)
valgrind-tests += $(llm-tests)

$(llm-tests): %: %.o $(O)/tests/unit/gguf_build.o $(llm-stages)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka -ljansson $(libnpu-libs) $(LDLIBS)

$(gguf-dump): %: %.o $(llm-stages)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) $(LDLIBS)
