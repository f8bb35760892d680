# SPDX-License-Identifier: MIT
# libnpu: sources by stage; each stage appends to libnpu-src in its own lines.

libnpu-src := libnpu/error.c
libnpu-libs := $(shell $(PKG_CONFIG) --libs libpcre2-8 2>/dev/null || echo -lpcre2-8)

-include libnpu/import/import.mk libnpu/llm/llm.mk libnpu/graph/graph.mk libnpu/cpu/cpu.mk
-include libnpu/device/device.mk libnpu/compile/compile.mk libnpu/runtime/runtime.mk

libnpu-obj := $(libnpu-src:%.c=$(O)/%.o)

lib: $(O)/libnpu.a $(O)/libnpu.so ## libnpu, static and shared

$(O)/libnpu.a: $(libnpu-obj)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(O)/libnpu.so: $(libnpu-obj) $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libnpu.so.0 $(LDFLAGS) -o $@ $(libnpu-obj) $(O)/libnpusim.a $(libnpu-libs) $(LDLIBS)
