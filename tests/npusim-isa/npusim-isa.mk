# SPDX-License-Identifier: MIT
# Arithmetic, faults and timing of the compute cores against a second model in Python (numpy).
$(O)/tests/npusim-isa/isa_run: $(O)/tests/npusim-isa/isa_run.o $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(O)/tests/npusim-isa/core_test: $(O)/tests/npusim-isa/core_test.o $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

unit-tests += $(O)/tests/npusim-isa/core_test
test-programs += $(O)/tests/npusim-isa/isa_run
script-tests += tests/npusim-isa/isa.py tests/npusim-isa/core.py
