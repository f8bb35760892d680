# SPDX-License-Identifier: MIT
$(O)/tests/bench/mx_bench: $(O)/tests/bench/mx_bench.o $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

.PHONY: bench-mx
bench-mx: $(O)/tests/bench/mx_bench ## host speed of the model's matrix engine
	$(Q)$(O)/tests/bench/mx_bench edge scalar
