# SPDX-License-Identifier: MIT
# Command streams against the compute cores; built by clang from source, with its sanitizers.
$(O)/tests/fuzz/stream_fuzz: tests/fuzz/stream_fuzz.c $(npusim-core-src) \
		$(wildcard tools/npusim/*.h) $(O)/tools/npusim/chip_profiles.h
	$(say) FUZZ $@
	@mkdir -p $(@D)
	$(Q)clang $(CPPFLAGS) -I$(O)/tools/npusim -std=gnu11 -g -O1 -ffp-contract=off -fno-math-errno \
		-Wall -Wextra -Werror -Wno-sign-compare -Wno-missing-field-initializers \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ tests/fuzz/stream_fuzz.c $(npusim-core-src) -lm -lpthread

fuzzers += $(O)/tests/fuzz/stream_fuzz
