# SPDX-License-Identifier: GPL-2.0-only
# The kernel module.  KDIR is a kernel's build directory; the objects go to $(KMOD).

KDIR		?= /lib/modules/$(shell uname -r)/build
# "unknown" only names a folder: without KDIR the kernel's own make fails, and says so
KRELEASE	= $(shell cat $(KDIR)/include/config/kernel.release 2>/dev/null || echo unknown)
KMOD		= $(O)/kmod/$(KRELEASE)
driver-src	:= Kbuild $(wildcard driver/*.[ch] driver/hw/*.h driver/kunit/*.[ch] uapi/drm/*.h) \
		   driver/Kbuild driver/Kconfig driver/probe.sh driver/kunit/Kbuild
# where tools/vm/setup put it, else where KDIR has it
CHECKPATCH	?= $(firstword $(wildcard $(NPUEDGE_CACHE)/linux/scripts/checkpatch.pl \
		   $(HOME)/.cache/npuedge/linux/scripts/checkpatch.pl $(KDIR)/scripts/checkpatch.pl) \
		   checkpatch.pl)
# The kernel's make has its own idea of O.
kbuild		= MAKEFLAGS='$(filter-out O=% KDIR=%,$(MAKEFLAGS))' $(MAKE) -C $(KDIR) M=$(abspath $(KMOD)) \
		  $(if $(ARCH),ARCH=$(ARCH)) $(if $(CROSS_COMPILE),CROSS_COMPILE=$(CROSS_COMPILE))

.PHONY: modules modules_install checkpatch sparse coccicheck driver-sources

# Kbuild writes beside the sources, so it gets a copy; unchanged files keep their age.
driver-sources:
	@mkdir -p $(KMOD)
	@tar -cf - $(driver-src) | tar -xf - -C $(KMOD)

modules: driver-sources ## npuedge.ko for the kernel of KDIR (default: the running one)
	+$(Q)$(kbuild) W=1 modules

modules_install: modules ## install npuedge.ko (INSTALL_MOD_PATH= a root)
	+$(Q)$(kbuild) modules_install

checkpatch: ## kernel coding style of the driver (CHECKPATCH= the kernel's checkpatch.pl)
	$(Q)$(CHECKPATCH) -q --no-tree --strict --no-summary --max-line-length=100 \
		--file \
		$(filter-out driver/hw/% uapi/%,$(filter %.c %.h,$(driver-src)))

# Debian's headers lack the script that tells whether sparse is good enough, hence KBUILD_CHECKSRC.
sparse: driver-sources ## sparse over the driver
	+$(Q)$(kbuild) W=1 C=2 KBUILD_CHECKSRC=2 CF=-Wsparse-error modules

coccicheck: driver-sources ## coccinelle's semantic patches over the driver
	+$(Q)$(kbuild) MODE=report coccicheck

# The KUnit tests of what needs no kernel, built for the host with a shim of the kernel's headers.
pgtable-test := $(O)/tests/unit/pgtable/pgtable_test
$(pgtable-test): driver/kunit/npuedge_pgtable_test.c driver/npuedge_pgtable.c driver/npuedge_pgtable.h \
		 driver/npuedge_ring.h $(wildcard tests/unit/pgtable/include/*/*.h)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -Itests/unit/pgtable/include -Idriver -Idriver/hw $(BASE_CFLAGS) $(LDFLAGS) -o $@ \
		$(filter %.c,$^)
unit-tests += $(pgtable-test)
