# SPDX-License-Identifier: MIT
test-device := $(O)/tests/unit/device

$(test-device): $(O)/tests/unit/device.o $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -lcmocka $(LDLIBS)

unit-tests += $(test-device)
