# SPDX-License-Identifier: MIT
# Tests on the real model, for the device in NPU_DEVICE; those of the in-process NPU alone.
test-model := $(addprefix $(O)/tests/model/,golden equal preempt)

$(test-model): %: %.o $(O)/tests/model/model.o $(O)/tests/model/path.o $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -lcmocka -ljansson $(LDLIBS)

model-npu-tests += $(O)/tests/model/preempt
model-tests += $(filter-out $(model-npu-tests),$(test-model))
