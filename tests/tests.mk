# SPDX-License-Identifier: MIT
#
# Tests.  A fragment appends programs to unit-tests, scripts to script-tests, and programs that need the
# model to model-tests; all speak TAP (cmocka does when asked) and are run by tests/run.
#
# check-X runs a suite here and now; `make check` makes the tree, then runs every suite in it or in a guest
# (tests/check).

-include $(sort $(wildcard tests/*/*.mk))

# Programs side by side: as many as there are processors.
run := O=$(O) tests/run --jobs $(shell nproc)
script-tests += tests/unit/runner

check-unit: $(unit-tests) $(test-programs) ## host unit tests (no VM, no model)
	$(Q)$(run) --suite unit $(unit-tests) $(script-tests)

check-model: $(model-tests) $(model-npu-tests) ## the model's numbers against independent ones, CPU and in-process NPU
	$(Q)NPU_DEVICE=cpu $(run) --suite model-cpu $(model-tests)
	$(Q)NPU_DEVICE=sim $(run) --suite model-sim $(model-tests) $(model-npu-tests)

# TSan where there are threads; ASan and UBSan everywhere.
tsan-names := core_test device session cpu_exec test_device.py test_protocol.py test_mc.py test_faults.py \
	      test_control.py
pick = $(foreach t,$(1),$(if $(filter $(tsan-names),$(notdir $(t))),$(t)))
ifeq ($(SAN),thread)
san-tests := $(call pick,$(unit-tests))
san-scripts := $(call pick,$(script-tests))
# Each has threads of its own, and limits in time that TSan's slowness may use up.
san-jobs := --jobs 1
else
san-tests := $(unit-tests)
san-scripts := $(script-tests)
endif

check-san: ## unit tests under ASan + UBSan, those with threads under TSan
	$(Q)$(MAKE) --no-print-directory O=$(O)/asan SAN=address,undefined san-unit; a=$$?; \
	$(MAKE) --no-print-directory O=$(O)/tsan SAN=thread san-unit; b=$$?; \
	mkdir -p $(O)/results && cp $(O)/asan/results/*.json $(O)/tsan/results/*.json $(O)/results/ && \
	[ $$a = 0 ] && [ $$b = 0 ]

.PHONY: san-unit
san-unit: $(san-tests) $(test-programs)
	$(Q)$(run) $(san-jobs) --suite unit-$(firstword $(subst $(comma), ,$(SAN))) $(san-tests) $(san-scripts)

check-fuzz: $(fuzzers) ## every fuzzer for a bounded number of runs (needs clang)
	$(Q)$(run) --suite fuzz $(foreach f,$(fuzzers),"tests/fuzz/smoke $(f)")

check-static: ## checkpatch, sparse, W=1, kernel-doc, binding, kselftests in tree, clang, exported symbols
	$(Q)$(run) --suite static --timeout 3600 tests/static/driver tests/static/kselftest \
		tests/static/syzkaller tests/static/userspace

check-valgrind: $(valgrind-tests) ## the small unit tests under valgrind
	$(Q)$(run) --suite valgrind $(foreach t,$(valgrind-tests),"tests/static/valgrind $(t)")

# What a guest needs besides module and firmware.
guest-programs: $(O)/npu-run $(kselftests) $(O)/tests/unit/device ## programs for the machine with the NPU

.PHONY: check check-long check-unit check-model check-san check-fuzz check-static check-valgrind guest-programs
check: setup ## set-up, then all tests; prints totals
	tests/check

check-long: setup ## the tests that take hours: 1,000 loads and kills, 200 unbinds, two hours of random ioctls
	tests/check-long
