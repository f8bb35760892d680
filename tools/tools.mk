# SPDX-License-Identifier: MIT
# Programs (each fragment appends to tool-programs), the demo, the benchmark.

-include tools/npu-run/npu-run.mk

tools: $(tool-programs) ## npusim, npu-run

.PHONY: tools demo bench-first-light
# What the user wrote, without make's own view of its dollar signs.
demo-env = PROMPT='$(subst ','\'',$(value PROMPT))' MODEL='$(subst ','\'',$(value MODEL))' ARCH='$(ARCH)' \
	   KERNEL='$(KERNEL)' TOKENS='$(TOKENS)' CHIP='$(CHIP)'
demo: ## set-up, then a language model answers: PROMPT= MODEL= ARCH= KERNEL= TOKENS= CHIP=
	@$(demo-env) tools/demo --check
	@$(MAKE) --no-print-directory setup
	@$(demo-env) tools/demo

bench-first-light: setup ## the figures of the first-light path: boot, tokens, time, memory
	tests/bench/first-light
