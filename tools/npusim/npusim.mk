# SPDX-License-Identifier: MIT
# npusim: core.mk lists the compute-core side (npusim-core-src), which libnpu links too; the rest is the
# device around it (npusim-dev-src) and the program.

npusim-core-src :=
-include tools/npusim/core.mk

npusim-dev-src := $(addprefix tools/npusim/,log.c trace.c usock.c dma.c mmu.c irq.c pci.c vfio_user.c \
		    regs.c worker.c rv32.c rv32_decode.c mc.c bootrom.c device.c \
		    fault_inject.c fault_table.c fault_msg.c fault_act.c fault_points.c dbgwin.c \
		    ctl_parse.c ctl_answer.c ctl.c coredump.c replay.c)
npusim-dev-libs := $(shell $(PKG_CONFIG) --libs libsodium jansson 2>/dev/null || echo -lsodium -ljansson)

npusim-core-obj := $(npusim-core-src:%.c=$(O)/%.o)
npusim-dev-obj := $(npusim-dev-src:%.c=$(O)/%.o)

$(O)/libnpusim.a: $(npusim-core-obj)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Everything but main(), for tests.
$(O)/libnpusim-dev.a: $(npusim-dev-obj)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# The boot ROM's default key.  Without the key file every image is refused unless --key names one.
$(O)/tools/npusim/dev_key.h: $(wildcard firmware/keys/dev.pub)
	@mkdir -p $(@D)
	$(Q){ echo '#define SIM_DEV_KEY_HEX "" \'; \
	      sed -n 's/^\([0-9a-fA-F]\{64\}\)[[:space:]]*$$/"\1"/p' $(or $<,/dev/null) | head -n 1; \
	      echo; } > $@

$(O)/tools/npusim/main.o: $(O)/tools/npusim/dev_key.h
CFLAGS_tools/npusim/main := -I$(O)/tools/npusim

$(O)/npusim: $(O)/tools/npusim/main.o $(O)/libnpusim-dev.a $(O)/libnpusim.a
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(npusim-dev-libs) $(LDLIBS)

tool-programs += $(O)/npusim tools/npusim/npusim-ctl
