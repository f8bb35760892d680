# SPDX-License-Identifier: MIT
$(O)/tests/bench/mx_bench: $(O)/tests/bench/mx_bench.o $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: bench-mx
bench-mx: $(O)/tests/bench/mx_bench ## host speed of the model's matrix engine
	$(Q)$(O)/tests/bench/mx_bench edge scalar

$(addprefix $(O)/tests/bench/,submit_bench scale_bench latency_bench): $(O)/tests/bench/%: tests/bench/%.c \
		tests/bench/bench.h $(wildcard tests/kselftest/*.h) uapi/drm/npuedge_accel.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Werror -D_GNU_SOURCE -static -Iuapi -Idriver/hw -I$(KSFT) \
		$(libdrm-cflags) $< -o $@

.PHONY: bench-submit
bench-submit: ## instructions of SUBMIT, completion and VM_BIND, in a guest (after tools/build x86_64 7.3)
	$(Q)tools/vm/enter -- $(MAKE) --no-print-directory --jobserver-style=pipe O=build/x86_64 \
		build/x86_64/tests/bench/submit_bench
	$(Q)tests/bench/submit

.PHONY: bench-scale
bench-scale: ## cost of one of many buffers and address spaces, in a guest (after tools/build x86_64 7.3)
	$(Q)tools/vm/enter -- $(MAKE) --no-print-directory --jobserver-style=pipe O=build/x86_64 \
		build/x86_64/tests/bench/scale_bench
	$(Q)tests/bench/scale

.PHONY: bench-latency
bench-latency: ## time from doorbell to interrupt and to fence, in a guest (after tools/build x86_64 7.3)
	$(Q)tools/vm/enter -- $(MAKE) --no-print-directory --jobserver-style=pipe O=build/x86_64 \
		build/x86_64/tests/bench/latency_bench
	$(Q)tools/vm/run --timeout 600 --npusim "build/x86_64/npusim --chip tiny --threads 1" -- sh -c \
		"tests/guest/load build/x86_64 && build/x86_64/tests/bench/latency_bench"
