# SPDX-License-Identifier: MIT
# Management-core firmware: RV32 code, and the host tool that signs it.

FW_CROSS	?= riscv64-unknown-elf-
FW_KEY		?= firmware/keys/dev.key
# a tarball has no history: the image then says so in its build text
FW_BUILD	:= $(shell git describe --always --dirty 2>/dev/null || echo unknown)

# Everything but start.S and hal_mc.c also builds on the host, see tests/firmware.
fw-src := firmware/main.c firmware/iface.c firmware/rings.c firmware/msg.c firmware/queue.c \
	  firmware/sched.c firmware/asid.c firmware/cores.c firmware/job.c firmware/fault.c firmware/events.c \
	  firmware/log.c firmware/counters.c firmware/timer.c firmware/heartbeat.c firmware/power.c firmware/panic.c firmware/window.c
fw-mc-src := firmware/start.S firmware/hal_mc.c $(fw-src)
fw-obj := $(patsubst %,$(O)/rv32/%.o,$(basename $(fw-mc-src)))

fw-cflags := -march=rv32imc_zicsr -mabi=ilp32 -mcmodel=medany -std=gnu11 -O2 -g -ffreestanding \
	     -fno-builtin-printf -ffunction-sections -fdata-sections -fno-common -Wall -Wextra -Werror \
	     -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wstack-usage=512 -Ifirmware -Idriver/hw

fwpack-src := firmware/pack/fwpack.c firmware/pack/image.c firmware/pack/file.c
fwpack-obj := $(fwpack-src:%.c=$(O)/%.o)
CFLAGS_firmware/pack/fwpack := -Ifirmware -DFWPACK_DEV_PUB='"$(shell cat firmware/keys/dev.pub)"'

$(O)/firmware/fwpack: $(fwpack-obj)
	$(say) LD $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $(fwpack-obj) -lsodium

# The packer runs on the build machine; a cross build uses one built for it.
ifeq ($(CROSS_COMPILE),)
fwpack := $(O)/firmware/fwpack
else
fwpack := $(O)/host/firmware/fwpack
$(O)/host/firmware/fwpack: $(fwpack-src)
	@mkdir -p $(@D)
	$(say) HOSTCC $@
	$(Q)cc $(CPPFLAGS) -std=gnu11 -O2 $(CFLAGS_firmware/pack/fwpack) -o $@ $(fwpack-src) -lsodium
endif

firmware: $(O)/firmware/npuedge-ne1.fw $(fwpack) ## signed firmware image of the NE1

# Changes when another key is asked for, so that the image is signed again.
$(O)/firmware/key: fw-key
	@mkdir -p $(@D)
	@echo '$(FW_KEY)' | cmp -s - $@ || echo '$(FW_KEY)' > $@

$(O)/firmware/npuedge-ne1.fw: $(O)/firmware/npuedge-ne1.elf $(FW_KEY) $(O)/firmware/key $(fwpack)
	$(say) SIGN $@
	$(Q)$(fwpack) pack -k $(FW_KEY) -b '$(FW_BUILD)' $< $@

# Without _zicsr here: the driver finds no libgcc for RV32 when the string has it.
$(O)/firmware/npuedge-ne1.elf: $(fw-obj) firmware/ne1fw.ld
	@mkdir -p $(@D)
	$(say) FWLD $@
	$(Q)$(FW_CROSS)gcc -march=rv32imc -mabi=ilp32 -nostdlib -static -Wl,--gc-sections \
		-Wl,-T,firmware/ne1fw.ld -o $@ $(fw-obj) -lgcc

$(O)/rv32/firmware/%.o: firmware/%.c | fw-compiler
	@mkdir -p $(@D)
	$(say) FWCC $<
	$(Q)$(FW_CROSS)gcc $(fw-cflags) -MMD -MP -c -o $@ $<

$(O)/rv32/firmware/%.o: firmware/%.S | fw-compiler
	@mkdir -p $(@D)
	$(say) FWAS $<
	$(Q)$(FW_CROSS)gcc $(fw-cflags) -MMD -MP -c -o $@ $<

.PHONY: fw-key fw-compiler
fw-key:
fw-compiler:
	@command -v $(FW_CROSS)gcc >/dev/null || { echo "firmware: $(FW_CROSS)gcc not found;" \
		"install gcc-riscv64-unknown-elf (Debian, Ubuntu) or set FW_CROSS" >&2; exit 1; }
