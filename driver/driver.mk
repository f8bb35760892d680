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
KERNEL_DOC	?= $(firstword $(wildcard $(NPUEDGE_CACHE)/linux/scripts/kernel-doc \
		   $(HOME)/.cache/npuedge/linux/scripts/kernel-doc $(KDIR)/scripts/kernel-doc) kernel-doc)
# The kernel's make has its own idea of O.
kbuild		= MAKEFLAGS='$(subst ','\'',$(filter-out O=% KDIR=%,$(MAKEFLAGS)))' $(MAKE) -C $(KDIR) M=$(abspath $(KMOD)) \
		  $(if $(ARCH),ARCH=$(ARCH)) $(if $(CROSS_COMPILE),CROSS_COMPILE=$(CROSS_COMPILE))

.PHONY: modules modules_install modules_sign install-dkms docs checkpatch sparse smatch coccicheck driver-sources

# Kbuild writes beside the sources, so it gets a copy; unchanged files keep their age.
driver-sources:
	@mkdir -p $(KMOD)
	@tar -cf - $(driver-src) | tar -xf - -C $(KMOD)

modules: driver-sources ## npuedge.ko for the kernel of KDIR (default: the running one)
	+$(Q)$(kbuild) W=1 modules

# For machines that load signed modules only: the kernel's own tool, with a key that the machine trusts.
SIGN_HASH	?= sha256
modules_sign: modules ## sign npuedge.ko: SIGN_KEY= private key (PEM), SIGN_CERT= its certificate
	$(if $(and $(wildcard $(SIGN_KEY)),$(wildcard $(SIGN_CERT))),,\
		$(error modules_sign: SIGN_KEY=$(SIGN_KEY) and SIGN_CERT=$(SIGN_CERT) have to name files))
	$(Q)$(KDIR)/scripts/sign-file $(SIGN_HASH) $(SIGN_KEY) $(SIGN_CERT) $(KMOD)/driver/npuedge.ko
	$(say) SIGN $(KMOD)/driver/npuedge.ko

# DKMS builds from a copy of its own, for every kernel that the machine gets.
dkms-tree = $(DESTDIR)/usr/src/npuedge-$(VERSION)
install-dkms: ## install the driver's sources for DKMS; then: dkms install npuedge/VERSION
	install -d $(dkms-tree)
	tar -cf - $(filter-out driver/kunit/%,$(driver-src)) | tar -xf - -C $(dkms-tree)
	sed 's/@VERSION@/$(VERSION)/' driver/dkms.conf.in > $(dkms-tree)/dkms.conf

docs: ## the driver's pages, with what the sources say: $(O)/docs (KERNEL_DOC= the kernel's kernel-doc)
	$(Q)driver/Documentation/build.py $(KERNEL_DOC) $(O)/docs
	$(say) DOC $(O)/docs

modules_install: modules ## install npuedge.ko (INSTALL_MOD_PATH= a root)
	+$(Q)$(kbuild) modules_install

# All of checkpatch --strict for the driver and its tests.  What the contract (driver/hw) and the uAPI are spared, as
# they are compiled by firmware, library and programs too, of which none has the kernel's headers:
# - BIT_MACRO: BIT() is the kernel's own, its uAPI headers have shifts as well;
# - PREFER_KERNEL_TYPES: ne1_types.h is where __u32 and the like come from outside the kernel;
# - CAMELCASE: _Static_assert is C11's word, static_assert() the kernel's;
# - LINE_SPACING: the assertion of a structure's size stands right below the structure;
# - lines of the contract's tables, one register or field with its meaning each, have up to 125 columns.
# driver/Documentation/index.rst repeats this for readers.
checkpatch-contract := BIT_MACRO,PREFER_KERNEL_TYPES,CAMELCASE,LINE_SPACING
checkpatch-run = $(CHECKPATCH) -q --no-tree --strict --no-summary
checkpatch: ## kernel coding style of the driver (CHECKPATCH= the kernel's checkpatch.pl)
	$(Q)$(checkpatch-run) --max-line-length=100 --file \
		$(filter-out driver/hw/% uapi/%,$(filter %.c %.h,$(driver-src)))
	$(Q)$(checkpatch-run) --max-line-length=100 --ignore BIT_MACRO --file $(filter uapi/%.h,$(driver-src))
	$(Q)$(checkpatch-run) --max-line-length=125 --ignore $(checkpatch-contract) --file \
		$(filter driver/hw/%.h,$(driver-src))
	$(Q)$(checkpatch-run) --max-line-length=120 --file tests/guest/soc/npuedge_soc.c \
		tests/guest/importer/npuedge_importer.c

# Debian's headers lack the script that tells whether sparse is good enough, hence KBUILD_CHECKSRC.
sparse: driver-sources ## sparse over the driver
	+$(Q)$(kbuild) W=1 C=2 KBUILD_CHECKSRC=2 CHECK=$(abspath tests/static/sparse) CF=-Wsparse-error modules

# Debian has no package of it.  It calls what it finds a success, and prints states of its own ("dynamic state").
SMATCH		?= smatch
smatch-path	= $(if $(findstring /,$(SMATCH)),$(abspath $(SMATCH)),$(SMATCH))
smatch: driver-sources ## smatch over the driver (SMATCH= the program, built from its source)
	+$(Q)$(kbuild) W=1 C=2 KBUILD_CHECKSRC=2 CHECK="$(smatch-path) -p=kernel --two-passes $(SMATCHFLAGS)" CF= modules \
		> $(KMOD)/smatch.log 2>&1 || { cat $(KMOD)/smatch.log; exit 1; }
	$(Q)! grep -E '^\S*driver/\S+:[0-9]+ .*(warn|warning|error):' $(KMOD)/smatch.log

coccicheck: driver-sources ## coccinelle's semantic patches over the driver
	+$(Q)$(kbuild) MODE=report coccicheck

# The KUnit tests of what needs no kernel, built for the host with a shim of the kernel's headers.
kunit-tests := $(patsubst %,$(O)/tests/unit/pgtable/%_test,msg pgtable uapi)
$(O)/tests/unit/pgtable/pgtable_test: driver/npuedge_pgtable.c
$(O)/tests/unit/pgtable/uapi_test: driver/npuedge_array.c driver/npuedge_check.c
$(O)/tests/unit/pgtable/%_test: driver/kunit/npuedge_%_test.c $(wildcard driver/*.h) uapi/drm/npuedge_accel.h \
				$(wildcard tests/unit/pgtable/include/*/*.h)
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -Itests/unit/pgtable/include -Idriver -Idriver/hw -Iuapi \
		$(libdrm-cflags) \
		$(BASE_CFLAGS) $(LDFLAGS) -o $@ $(filter %.c,$^)
unit-tests += $(kunit-tests)
