# SPDX-License-Identifier: MIT
# The compute cores of the model, also linked into libnpu for its in-process device.
npusim-core-src := $(addprefix tools/npusim/, \
	chip.c core.c dram.c eng_dma.c eng_mx.c eng_vx.c pool.c race.c simd.c simd_avx2.c \
	simd_neon.c simd_scalar.c soc.c span.c)

npusim-chips := $(sort $(wildcard tools/npusim/chips/*.chip))

$(O)/tools/npusim/chip_profiles.h: $(npusim-chips) tools/npusim/chips/embed
	$(say) GEN $@
	@mkdir -p $(@D)
	$(Q)tools/npusim/chips/embed $(npusim-chips) > $@.tmp && mv $@.tmp $@

$(O)/tools/npusim/chip.o: $(O)/tools/npusim/chip_profiles.h
CFLAGS_tools/npusim/chip := -I$(O)/tools/npusim
# -O3 widens the loops of vx_loops.h, -O2 of older compilers leaves them scalar.
CFLAGS_tools/npusim/simd_avx2 := -O3
CFLAGS_tools/npusim/simd_neon := -O3
