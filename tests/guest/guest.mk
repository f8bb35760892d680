# SPDX-License-Identifier: MIT
# Programs for the guest that are no test of their own.
$(O)/tests/guest/bad_jobs: tests/guest/bad_jobs.c tests/kselftest/npuedge.h tests/kselftest/sysfs.h \
		uapi/drm/npuedge_accel.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wno-unused-function -Werror -D_GNU_SOURCE -static -Iuapi -Idriver/hw -Itests/kselftest -I$(KSFT) \
		$(libdrm-cflags) $< -o $@

guest-programs: $(O)/tests/guest/bad_jobs

# npuedge_soc.ko for the kernel of KDIR; Kbuild writes beside the sources, so it gets a copy.
.PHONY: soc-module
soc-module: KMOD = $(O)/soc/$(KRELEASE)
soc-module:
	@mkdir -p $(KMOD)/hw
	@cp -p driver/hw/*.h $(KMOD)/hw/
	@cp -p tests/guest/soc/* $(KMOD)/
	+$(Q)$(kbuild) W=1 modules

# npuedge_importer.ko likewise, for all kernels.
.PHONY: importer-module
importer-module: KMOD = $(O)/importer/$(KRELEASE)
importer-module:
	@mkdir -p $(KMOD)
	@cp -p tests/guest/importer/* tests/kselftest/importer.h $(KMOD)/
	+$(Q)$(kbuild) W=1 modules
