# SPDX-License-Identifier: MIT
# The kselftests out of tree, static, so that they run in any root file system.

# every program here; layout.c is compiled for two word sizes instead
kselftest-names := $(filter-out layout,$(patsubst tests/kselftest/%.c,%,$(wildcard tests/kselftest/*.c)))
kselftests := $(kselftest-names:%=$(O)/kselftest/%)
# where tools/vm/setup unpacked tools/testing/selftests of the kernel source
KSFT ?= $(or $(NPUEDGE_CACHE),$(HOME)/.cache/npuedge)/linux/tools/testing/selftests

kselftests-inject := devices dma faults inject integrity iommu messages older pci recovery storm suspend timeout \
		     trace vectors
$(kselftests-inject:%=$(O)/kselftest/%): tests/kselftest/inject.h tools/npusim/debug_window.h
$(O)/kselftest/%: tests/kselftest/%.c $(wildcard tests/kselftest/*.h) uapi/drm/npuedge_accel.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Werror -D_GNU_SOURCE -pthread -static -Iuapi -Idriver/hw -I$(KSFT) \
		$(libdrm-cflags) $< -o $@

kselftests: $(kselftests) ## the driver's selftests, to be run on the machine with the NPU

script-tests += tests/kselftest/layout
