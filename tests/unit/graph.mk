# SPDX-License-Identifier: MIT
# Graphs, CPU executor, session.
graph-tests := $(addprefix $(O)/tests/unit/,graph cpu_kernels cpu_exec session)

$(graph-tests): %: %.o $(O)/tests/unit/gguf_build.o $(O)/tests/unit/tiny_model.o $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -lcmocka $(LDLIBS)

# Lets the test make jobs fail.
$(O)/tests/unit/session: LDFLAGS += -Wl,--wrap=npu_queue_submit,--wrap=npu_fence_wait

# Lets every allocation fail.
nomem := $(O)/tests/unit/nomem
$(nomem): LDFLAGS += $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc reallocarray aligned_alloc strdup \
	strndup free pthread_create mmap pcre2_compile_8 pcre2_match_data_create_8)
$(nomem): %: %.o $(addprefix $(O)/tests/unit/,gguf_build.o tokenizer_build.o tiny_model.o) \
	     $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) -lcmocka $(LDLIBS)

unit-tests += $(nomem)

tiny-gguf := $(O)/tests/unit/tiny_gguf

$(tiny-gguf): %: %.o $(addprefix $(O)/tests/unit/,gguf_build.o tiny_model.o) $(O)/libnpu.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(libnpu-libs) $(LDLIBS)

test-programs += $(tiny-gguf)
script-tests += tests/unit/npu_run_cli
unit-tests += $(graph-tests)
valgrind-tests += $(addprefix $(O)/tests/unit/,graph cpu_exec)
