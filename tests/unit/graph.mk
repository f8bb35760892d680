# SPDX-License-Identifier: MIT
# Graphs, CPU executor, session.
graph-tests := $(addprefix $(O)/tests/unit/,graph cpu_kernels cpu_exec session)

$(graph-tests): %: %.o $(O)/tests/unit/gguf_build.o $(O)/tests/unit/tiny_model.o $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -lcmocka $(LDLIBS)

unit-tests += $(graph-tests)
valgrind-tests += $(addprefix $(O)/tests/unit/,graph cpu_exec)
