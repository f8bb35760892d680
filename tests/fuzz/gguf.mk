# SPDX-License-Identifier: MIT
# Fuzzers of what comes from a model file.  clang compiles the stages anew, instrumented.

FUZZ_CC ?= clang
fuzz-llm := $(O)/fuzz/gguf $(O)/fuzz/tokenizer
fuzz-llm-src := $(filter libnpu/import/% libnpu/llm/% libnpu/error.c,$(libnpu-src))
fuzzers += $(fuzz-llm)

$(fuzz-llm): $(O)/fuzz/%: tests/fuzz/%.c $(fuzz-llm-src) $(wildcard libnpu/import/*.h libnpu/llm/*.h libnpu/include/npu/*.h)
	$(say) FUZZ $@
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -std=gnu11 -O1 -g -ffp-contract=off -fno-omit-frame-pointer \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $(filter %.c,$^) $(libnpu-libs) $(LDLIBS)

fuzz-smoke: check-fuzz
.PHONY: fuzz-smoke
