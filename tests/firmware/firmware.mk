# SPDX-License-Identifier: MIT
# Host unit tests of the firmware: its own sources over the shim beside this file.

fw-host-obj := $(patsubst %.c,$(O)/%.o,$(fw-src) tests/firmware/shim.c tests/firmware/host.c)
fw-tests := $(addprefix $(O)/tests/firmware/,test_boot test_msg test_job test_sched)

unit-tests += $(fw-tests)

$(fw-tests): %: %.o $(fw-host-obj)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# libFuzzer needs clang; the sources are few enough to be built in one go.
fw-fuzz-src := tests/fuzz/fw_msg_fuzz.c tests/firmware/shim.c tests/firmware/host.c $(fw-src)
FUZZ_CC ?= clang

fuzzers += $(O)/tests/fuzz/fw_msg_fuzz

$(O)/tests/fuzz/fw_msg_fuzz: $(fw-fuzz-src) $(wildcard firmware/*.h tests/firmware/*.h driver/hw/*.h)
	@mkdir -p $(@D)
	$(say) FUZZCC $@
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -std=gnu11 -O1 -g -Wall -Wextra -Werror \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -o $@ $(fw-fuzz-src) -lcmocka
