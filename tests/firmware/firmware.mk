# SPDX-License-Identifier: MIT
# Unit tests of the firmware over the shim beside this file: its sources on the host, and the signed
# image on the model's RV32 core.

fw-test-obj := $(O)/tests/firmware/shim.o $(O)/tests/firmware/host.o
fw-native-obj := $(fw-test-obj) $(O)/tests/firmware/engine_native.o $(fw-src:%.c=$(O)/%.o)
fw-rv32-obj := $(fw-test-obj) $(O)/tests/firmware/engine_rv32.o $(O)/tools/npusim/rv32.o \
	       $(O)/tools/npusim/rv32_decode.o

# test_parts calls into the sources, so the image cannot run it.
fw-tests := test_handshake test_msg test_job test_sched test_preempt test_states test_clock test_hang
fw-native-tests := $(addprefix $(O)/tests/firmware/,test_parts $(fw-tests))
fw-rv32-tests := $(addprefix $(O)/tests/firmware/rv32_,$(fw-tests))

unit-tests += $(fw-native-tests) $(fw-rv32-tests)

$(fw-native-tests): %: %.o $(fw-native-obj)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

CFLAGS_tests/firmware/engine_rv32 := -DFW_IMAGE='"$(O)/firmware/npuedge-ne1.fw"'

$(fw-rv32-tests): $(O)/tests/firmware/rv32_%: $(O)/tests/firmware/%.o $(fw-rv32-obj) | \
		  $(O)/firmware/npuedge-ne1.fw
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

# libFuzzer needs clang; the sources are few enough to be built in one go.
fw-fuzz-src := tests/fuzz/fw_msg_fuzz.c tests/firmware/shim.c tests/firmware/host.c \
	       tests/firmware/engine_native.c $(fw-src)
FUZZ_CC ?= clang

fuzzers += $(O)/tests/fuzz/fw_msg_fuzz

$(O)/tests/fuzz/fw_msg_fuzz: $(fw-fuzz-src) $(wildcard firmware/*.h tests/firmware/*.h driver/hw/*.h)
	@mkdir -p $(@D)
	$(say) FUZZCC $@
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -std=gnu11 -O1 -g -Wall -Wextra -Werror \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $(fw-fuzz-src) -lcmocka

script-tests += tests/firmware/test_device.py tests/firmware/test_fwpack.sh tests/firmware/coverage
test-programs += $(O)/npusim $(O)/firmware/fwpack $(O)/firmware/npuedge-ne1.fw

.PHONY: coverage-firmware
coverage-firmware: ## line coverage of the firmware by its unit tests
	$(Q)O=$(O) tests/firmware/coverage
