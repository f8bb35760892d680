// SPDX-License-Identifier: MIT
#include "race.h"

#include <string.h>

static void join(struct sim_vclock *to, const struct sim_vclock *from)
{
	unsigned int u;

	for (u = 0; u < SIM_RACE_UNITS; u++)
		if (from->ended[u] > to->ended[u])
			to->ended[u] = from->ended[u];
}

void sim_race_reset(struct sim_race *race)
{
	memset(race, 0, sizeof(*race));
}

void sim_race_dispatch(struct sim_race *race, unsigned int engine)
{
	unsigned int at = (race->fifo[engine].head + race->fifo[engine].count++) % NE1_FIFO_DEPTH;

	race->fifo[engine].clock[at] = race->unit[SIM_RACE_FE];
}

/* Signals are taken in the order in which they came: exact if one engine gives and one takes. */
void sim_race_wait(struct sim_race *race, unsigned int unit, unsigned int sem)
{
	if (!race->sem[sem].count)
		return;
	join(&race->unit[unit], &race->sem[sem].clock[race->sem[sem].head]);
	race->sem[sem].head = (race->sem[sem].head + 1) % NE1_SEM_MAX;
	race->sem[sem].count--;
}

void sim_race_all_idle(struct sim_race *race)
{
	unsigned int u;

	for (u = 0; u < SIM_RACE_FE; u++)
		join(&race->unit[SIM_RACE_FE], &race->unit[u]);
}

void sim_race_signal(struct sim_race *race, unsigned int unit, unsigned int sem)
{
	unsigned int at = (race->sem[sem].head + race->sem[sem].count) % NE1_SEM_MAX;

	if (race->sem[sem].count == NE1_SEM_MAX)
		return;
	race->sem[sem].clock[at] = race->unit[unit];
	race->sem[sem].count++;
}

static bool conflict(const struct sim_plan *plan, const struct sim_race_access *old,
		     struct sim_race_pair *pair)
{
	unsigned int i, j;

	for (i = 0; i < plan->n_spans; i++)
		for (j = 0; j < old->n_spans; j++)
			if (sim_span_conflict(&plan->span[i], &old->span[j])) {
				pair->mine = plan->span[i];
				pair->other = old->span[j];
				pair->index = old->index;
				return true;
			}
	return false;
}

static bool find(const struct sim_race *race, unsigned int engine, const struct sim_plan *plan,
		 struct sim_race_pair *pair)
{
	const struct sim_race_access *old;
	unsigned int u, i;

	for (u = 0; u < SIM_RACE_FE; u++) {
		if (u == engine)
			continue;
		for (i = 0; i < SIM_RACE_HISTORY; i++) {
			old = &race->history[u][i];
			if (old->seq > race->unit[engine].ended[u] && conflict(plan, old, pair)) {
				pair->engine = u;
				return true;
			}
		}
	}
	return false;
}

bool sim_race_start(struct sim_race *race, unsigned int engine, uint32_t index,
		    const struct sim_plan *plan, struct sim_race_pair *pair)
{
	struct sim_race_access *mine;
	uint32_t seq = ++race->seq[engine];

	join(&race->unit[engine], &race->fifo[engine].clock[race->fifo[engine].head]);
	race->fifo[engine].head = (race->fifo[engine].head + 1) % NE1_FIFO_DEPTH;
	race->fifo[engine].count--;
	if (find(race, engine, plan, pair))
		return true;
	mine = &race->history[engine][seq % SIM_RACE_HISTORY];
	mine->seq = seq;
	mine->index = index;
	mine->n_spans = plan->n_spans;
	memcpy(mine->span, plan->span, sizeof(mine->span));
	/* Whoever takes a signal of this command knows that it has ended. */
	race->unit[engine].ended[engine] = seq;
	return false;
}
