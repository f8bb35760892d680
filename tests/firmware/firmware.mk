# SPDX-License-Identifier: MIT
# Host unit tests of the firmware: its own sources over the shim beside this file.

fw-host-obj := $(patsubst %.c,$(O)/%.o,$(fw-src) tests/firmware/shim.c tests/firmware/host.c)
fw-tests := $(addprefix $(O)/tests/firmware/,test_boot test_msg test_job test_sched)

unit-tests += $(fw-tests)

$(fw-tests): %: %.o $(fw-host-obj)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)
