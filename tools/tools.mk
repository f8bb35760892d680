# SPDX-License-Identifier: MIT
# Programs (each fragment appends to tool-programs), the demo, the benchmark.

-include tools/npu-run/npu-run.mk

tools: $(tool-programs) ## npusim, npu-run

.PHONY: tools demo bench-first-light
demo: setup ## everything, then a language model answers: PROMPT= MODEL= ARCH= KERNEL= TOKENS= CHIP=
	@PROMPT='$(subst ','\'',$(PROMPT))' MODEL='$(MODEL)' ARCH='$(ARCH)' KERNEL='$(KERNEL)' \
		TOKENS='$(TOKENS)' CHIP='$(CHIP)' tools/demo

bench-first-light: setup ## the figures of the first-light path: boot, tokens, time, memory
	tests/bench/first-light
