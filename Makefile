# SPDX-License-Identifier: MIT
# npuedge: `make help` lists the targets.  Out-of-tree objects go to $(O).

O		?= build
CROSS_COMPILE	?=
ifeq ($(origin CC),default)
CC		:= $(CROSS_COMPILE)gcc
endif
ifeq ($(origin AR),default)
AR		:= $(CROSS_COMPILE)ar
endif
PKG_CONFIG	?= $(CROSS_COMPILE)pkg-config
SAN		?=
PREFIX		?= /usr/local
DESTDIR		?=

# -ffp-contract=off: the contract says where a multiply-add is fused, the compiler may not.
BASE_CFLAGS	:= -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno \
		   -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
		   -Wno-missing-field-initializers -Wno-sign-compare
CPPFLAGS	+= -D_GNU_SOURCE -I. -Idriver/hw -Iuapi -Ilibnpu/include -Ilibnpu -Itools/npusim
ifneq ($(SAN),)
BASE_CFLAGS	+= -fsanitize=$(SAN) -fno-omit-frame-pointer
LDFLAGS		+= -fsanitize=$(SAN)
ifneq ($(findstring undefined,$(SAN)),)
BASE_CFLAGS	+= -fno-sanitize-recover=undefined
endif
endif
# Only headers, the same for every machine: a cross build, whose pkg-config knows no libdrm and says so at length,
# uses the build machine's.  Without any, the compiler names drm.h.
libdrm-cflags	:= $(shell $(PKG_CONFIG) --cflags libdrm 2>/dev/null || echo -I/usr/include/libdrm)
CPPFLAGS	+= $(libdrm-cflags)
CFLAGS		:= $(BASE_CFLAGS) $(CFLAGS)
LDLIBS		+= -lm -lpthread

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

.DEFAULT_GOAL := all
comma := ,
# Fragments append to these; tests/tests.mk says what the test lists are.
tool-programs :=
unit-tests :=
script-tests :=
model-tests :=
model-npu-tests :=
test-programs :=
valgrind-tests :=
fuzzers :=

include libnpu/libnpu.mk
include tools/npusim/npusim.mk
include firmware/firmware.mk
include tools/tools.mk
include tools/vm/vm.mk
include driver/driver.mk
include tests/tests.mk

.PHONY: all help lib tools firmware modules clean install check-unit
all: lib tools firmware ## build everything that needs no kernel headers

$(O)/%.o: %.c
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_$(<:.c=)) -MMD -MP -c -o $@ $<

help: ## this list
	@sed -n 's/^\([a-zA-Z0-9_-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | sort -u | \
		awk -F'|' '{ printf "  make %-18s %s\n", $$1, $$2 }'

# Library, headers, programs, man pages, firmware; `make modules_install` does the module.
VERSION := 0.1.0
pages := $(wildcard tools/*/*.1)

install: lib tools firmware ## install below DESTDIR (PREFIX=/usr/local); the module is installed when KDIR is there
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,lib/pkgconfig include/npu bin share/man/man1) \
		$(DESTDIR)/lib/firmware/npuedge
	install -m 644 libnpu/include/npu/*.h $(DESTDIR)$(PREFIX)/include/npu/
	install -m 644 $(O)/libnpu.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(O)/libnpu.so $(DESTDIR)$(PREFIX)/lib/libnpu.so.0
	ln -sf libnpu.so.0 $(DESTDIR)$(PREFIX)/lib/libnpu.so
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' libnpu/npu.pc.in \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/npu.pc
	install -m 755 $(tool-programs) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(pages) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(O)/firmware/npuedge-ne1.fw $(DESTDIR)/lib/firmware/npuedge/
	install -D -m 644 driver/60-npuedge.rules $(DESTDIR)/lib/udev/rules.d/60-npuedge.rules
	$(if $(wildcard $(KDIR)/Makefile),$(MAKE) modules_install INSTALL_MOD_PATH=$(DESTDIR),\
		@echo 'npuedge.ko not installed: no kernel build directory at KDIR=$(KDIR)')

clean: ## remove build results of this checkout (never the caches)
	rm -rf $(O) build-*

# an installation below it has a rules.d
-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)
