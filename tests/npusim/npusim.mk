# SPDX-License-Identifier: MIT
# Tests of the device around the compute cores: protocol, boot ROM, management core.

script-tests += tests/npusim/test_protocol.py tests/npusim/test_boot.py tests/npusim/test_rv32.py \
		tests/npusim/test_mc.py tests/npusim/test_firmware.py \
		tests/npusim/test_faults.py tests/npusim/test_control.py tests/npusim/test_replay.py

rv32-run-obj := $(addprefix $(O)/,tests/npusim/rv32_run.o tools/npusim/rv32.o tools/npusim/rv32_decode.o)

$(O)/tests/npusim/rv32-run: $(rv32-run-obj)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

test-programs += $(O)/npusim $(O)/firmware/npuedge-ne1.fw $(O)/tests/npusim/rv32-run
