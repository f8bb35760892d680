# SPDX-License-Identifier: MIT
# GGUF reader, tokenizer, chat template, sampler: linked against these stages alone.

llm-stages := $(patsubst %.c,$(O)/%.o,$(filter libnpu/import/% libnpu/llm/% libnpu/error.c,$(libnpu-src)))
llm-build := $(addprefix $(O)/tests/unit/,gguf_build.o tokenizer_build.o)
llm-tests := $(addprefix $(O)/tests/unit/,gguf tokenizer chat sampler)
llm-model-tests := $(O)/tests/unit/tokenizer_golden
gguf-dump := $(O)/tests/unit/gguf_dump

$(llm-model-tests): $(O)/tests/model/path.o

unit-tests += $(llm-tests) $(llm-model-tests)
script-tests += tests/unit/gguf_dequant tests/unit/tokenizer_cli
test-programs += $(gguf-dump) $(O)/npu-run
valgrind-tests += $(llm-tests)

$(llm-tests) $(llm-model-tests): %: %.o $(llm-build) $(llm-stages)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka -ljansson $(libnpu-libs) $(LDLIBS)

$(gguf-dump): %: %.o $(llm-stages)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) $(LDLIBS)
