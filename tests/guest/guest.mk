# SPDX-License-Identifier: MIT
# Programs for the guest that are no test of their own.
$(O)/tests/guest/bad_jobs: tests/guest/bad_jobs.c tests/kselftest/npuedge.h tests/kselftest/sysfs.h \
		uapi/drm/npuedge_accel.h
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wno-unused-function -Werror -D_GNU_SOURCE -static -Iuapi -Idriver/hw -Itests/kselftest -I$(KSFT) \
		$(libdrm-cflags) $< -o $@

guest-programs: $(O)/tests/guest/bad_jobs
