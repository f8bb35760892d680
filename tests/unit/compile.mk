# SPDX-License-Identifier: MIT
# Compiler: packing, streams, whole models against the CPU executor.
compile-tests := $(addprefix $(O)/tests/unit/,pack history stream compile)

$(compile-tests): %: %.o $(addprefix $(O)/tests/unit/,gguf_build.o tiny_model.o compile_rig.o) \
		     $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -lcmocka $(LDLIBS)

unit-tests += $(compile-tests)
