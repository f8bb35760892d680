// SPDX-License-Identifier: MIT
/* How many tokens at a time fit a chip. */
#include "compile/place.h"
#include "compile/plan.h"

static bool fits(const struct npu_chip_info *chip, const npu_graph *g, const struct placement *p,
		 uint32_t m, enum plan_goal goal)
{
	struct plan plan;
	uint32_t i;

	for (i = 0; i < p->n_segments; i++) {
		if (!p->segments[i].on_npu)
			continue;
		if (npu_plan(g, &p->segments[i], m, chip->sram_bytes, goal, &plan))
			return false;
		npu_plan_fini(&plan);
	}
	return true;
}

static uint32_t search(const struct npu_chip_info *chip, const npu_graph *g,
		       const struct placement *p, uint32_t limit, enum plan_goal goal)
{
	uint32_t lo = 0, hi = limit, mid;

	/* lo fits, above hi nothing does. */
	while (lo < hi) {
		mid = lo + (hi - lo + 1) / 2;
		if (fits(chip, g, p, mid, goal))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

uint32_t npu_compile_max_tokens(const struct npu_chip_info *chip, const npu_graph *g,
				uint32_t limit)
{
	struct placement p;
	uint32_t m;

	if (npu_place(chip, g, 0, &p))
		return 0;
	m = search(chip, g, &p, limit, PLAN_FITS_ROOMY);
	if (!m)
		m = search(chip, g, &p, limit, PLAN_FITS);
	npu_placement_fini(&p);
	return m;
}
