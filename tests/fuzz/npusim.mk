# SPDX-License-Identifier: MIT
# What npusim takes from outside: requests of its control socket, core dumps.
fuzz-npusim := $(O)/tests/fuzz/ctl_fuzz $(O)/tests/fuzz/dump_fuzz
fuzz-npusim-src := tools/npusim/ctl_parse.c tools/npusim/fault_table.c
fuzzers += $(fuzz-npusim)

$(O)/tests/fuzz/ctl_fuzz: $(fuzz-npusim-src)
$(O)/tests/fuzz/dump_fuzz: tools/npusim/coredump.c tools/npusim/replay.c $(npusim-core-src)

$(fuzz-npusim): $(O)/tests/fuzz/%: tests/fuzz/%.c $(wildcard tools/npusim/*.h) $(O)/tools/npusim/chip_profiles.h
	$(say) FUZZ $@
	@mkdir -p $(@D)
	$(Q)clang $(CPPFLAGS) -I$(O)/tools/npusim -std=gnu11 -g -O1 -ffp-contract=off -fno-math-errno \
		-Wall -Wextra -Werror -Wno-sign-compare -Wno-missing-field-initializers \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $(filter %.c,$^) -ljansson -lm -lpthread
