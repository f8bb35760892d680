// SPDX-License-Identifier: MIT
/* Device clock, counters, energy and the thermal ladder. */
#include "soc.h"

#include <pthread.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "chip.h"

#define NS_PER_S	1000000000ull
#define HEAT_STEP_NS	10000000ull	/* temperatures and leakage are constant within a step */
#define HEAT_STEPS_MAX	1000 /* longer gaps take longer steps; the solver is stable for any */
#define NODES		SIM_CHIP_NODES

struct sim_soc {
	const struct sim_chip *chip;
	pthread_mutex_t lock;
	enum sim_pace pace;
	unsigned int running;
	uint64_t dev_ns;	/* running: reached by the fastest core; idle: at host_ns */
	uint64_t host_ns;	/* of the last update while idle */
	const struct sim_opp *opp;

	uint64_t dram_rd_bytes, dram_wr_bytes;
	double energy_pj;	/* up to heat_ns, without pending_pj */
	double pending_pj;	/* dynamic energy since heat_ns */
	uint64_t heat_ns;	/* device time of the temperatures */
	double temp_c[NODES];
};

static uint64_t host_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* 2^x by linear interpolation between powers: within 6 %, and the same on every host. */
static double exp2_coarse(double x)
{
	double whole;

	x = fmin(fmax(x, -20), 16);
	whole = floor(x);
	return ldexp(1 + (x - whole), (int)whole);
}

static double volt_ratio(const struct sim_soc *soc)
{
	return (double)soc->opp->mv / sim_chip_top_opp(soc->chip)->mv;
}

/* Static power in watts at the die temperature now. */
static double static_watt(const struct sim_soc *soc)
{
	const struct sim_chip_energy *e = &soc->chip->energy;
	double v = volt_ratio(soc);
	double doublings = (soc->temp_c[0] * 1e3 - 25e3) / e->leak_double_mc;

	return 1e-6 * (e->leak_uw * v * exp2_coarse(doublings) + e->idle_uw * v * v);
}

/* One implicit Euler step of the ladder: die - R0 - board - R1 - skin - R2 - air. */
static void heat_step(struct sim_soc *soc, double watt, double s)
{
	const struct sim_chip_thermal *t = &soc->chip->thermal;
	double diag[NODES], rhs[NODES], g[NODES], c, w;
	unsigned int i;

	for (i = 0; i < NODES; i++)
		g[i] = 1e3 / t->r_mk_w[i];
	for (i = 0; i < NODES; i++) {
		c = t->c_mj_k[i] * 1e-3 / s;
		diag[i] = c + g[i] + (i ? g[i - 1] : 0);
		rhs[i] = c * soc->temp_c[i] + (i ? 0 : watt);
	}
	rhs[NODES - 1] += g[NODES - 1] * t->ambient_mc * 1e-3;
	for (i = 1; i < NODES; i++) {
		w = g[i - 1] / diag[i - 1];
		diag[i] -= w * g[i - 1];
		rhs[i] += w * rhs[i - 1];
	}
	soc->temp_c[NODES - 1] = rhs[NODES - 1] / diag[NODES - 1];
	for (i = NODES - 1; i-- > 0;)
		soc->temp_c[i] = (rhs[i] + g[i] * soc->temp_c[i + 1]) / diag[i];
}

/* Brings heat and energy to dev_ns.  Short stretches are left pending so that steps do not depend
 * on how often somebody looks.
 */
static void heat_update(struct sim_soc *soc)
{
	uint64_t left = soc->dev_ns - soc->heat_ns, step = HEAT_STEP_NS;
	double watt, dynamic;

	if (left < HEAT_STEP_NS)
		return;
	if (left / HEAT_STEPS_MAX > step)
		step = left / HEAT_STEPS_MAX;
	left -= left % step;
	dynamic = soc->pending_pj * 1e-3 / left;	/* pJ per ns is mW */
	soc->energy_pj += soc->pending_pj;
	soc->pending_pj = 0;
	for (; left; left -= step) {
		watt = dynamic + static_watt(soc);
		soc->energy_pj += (watt - dynamic) * step * 1e3;
		heat_step(soc, watt, step * 1e-9);
		soc->heat_ns += step;
	}
}

/* Brings the clock to now.  Call with the lock. */
static void clock_update(struct sim_soc *soc)
{
	uint64_t now;

	if (!soc->running) {
		now = host_now_ns();
		soc->dev_ns += now - soc->host_ns;
		soc->host_ns = now;
	}
	heat_update(soc);
}

struct sim_soc *sim_soc_new(const struct sim_chip *chip)
{
	struct sim_soc *soc = calloc(1, sizeof(*soc));
	unsigned int i;

	if (!soc)
		return NULL;
	soc->chip = chip;
	soc->opp = sim_chip_top_opp(chip);
	soc->host_ns = host_now_ns();
	for (i = 0; i < NODES; i++)
		soc->temp_c[i] = chip->thermal.ambient_mc * 1e-3;
	if (pthread_mutex_init(&soc->lock, NULL)) {
		free(soc);
		return NULL;
	}
	return soc;
}

void sim_soc_free(struct sim_soc *soc)
{
	if (!soc)
		return;
	pthread_mutex_destroy(&soc->lock);
	free(soc);
}

void sim_soc_set_pace(struct sim_soc *soc, enum sim_pace pace)
{
	pthread_mutex_lock(&soc->lock);
	soc->pace = pace;
	pthread_mutex_unlock(&soc->lock);
}

uint64_t sim_soc_time_ns(struct sim_soc *soc)
{
	uint64_t ns;

	pthread_mutex_lock(&soc->lock);
	clock_update(soc);
	ns = soc->dev_ns;
	pthread_mutex_unlock(&soc->lock);
	return ns;
}

uint32_t sim_soc_freq_khz(struct sim_soc *soc)
{
	uint32_t khz;

	pthread_mutex_lock(&soc->lock);
	khz = soc->opp->khz;
	pthread_mutex_unlock(&soc->lock);
	return khz;
}

static int32_t temp_mc(struct sim_soc *soc, unsigned int node)
{
	double c;

	pthread_mutex_lock(&soc->lock);
	clock_update(soc);
	c = soc->temp_c[node];
	pthread_mutex_unlock(&soc->lock);
	return (int32_t)(c * 1e3);
}

int32_t sim_soc_temp_die_mc(struct sim_soc *soc)
{
	return temp_mc(soc, 0);
}

int32_t sim_soc_temp_board_mc(struct sim_soc *soc)
{
	return temp_mc(soc, 1);
}

uint64_t sim_soc_energy_uj(struct sim_soc *soc)
{
	double pj;

	pthread_mutex_lock(&soc->lock);
	clock_update(soc);
	pj = soc->energy_pj + soc->pending_pj +
	     static_watt(soc) * (soc->dev_ns - soc->heat_ns) * 1e3;
	pthread_mutex_unlock(&soc->lock);
	return (uint64_t)(pj * 1e-6);
}

uint64_t sim_soc_dram_rd_bytes(struct sim_soc *soc)
{
	uint64_t n;

	pthread_mutex_lock(&soc->lock);
	n = soc->dram_rd_bytes;
	pthread_mutex_unlock(&soc->lock);
	return n;
}

uint64_t sim_soc_dram_wr_bytes(struct sim_soc *soc)
{
	uint64_t n;

	pthread_mutex_lock(&soc->lock);
	n = soc->dram_wr_bytes;
	pthread_mutex_unlock(&soc->lock);
	return n;
}

void sim_soc_run_begin(struct sim_soc *soc, struct sim_run *run)
{
	pthread_mutex_lock(&soc->lock);
	clock_update(soc);
	soc->running++;
	run->start_ns = soc->dev_ns;
	run->host_start_ns = host_now_ns();
	run->now_ps = 0;
	run->energy_pj = 0;
	run->freq_khz = soc->opp->khz;
	pthread_mutex_unlock(&soc->lock);
}

/* Dynamic energy: DRAM has its own supply, the rest goes with the square of the core voltage. */
static double work_pj(const struct sim_soc *soc, const struct sim_work *work)
{
	const struct sim_chip_energy *e = &soc->chip->energy;
	double v = volt_ratio(soc);
	double core = (double)work->sram_bytes * e->sram_fj_byte + (double)work->macs * e->mac_fj +
		      (double)work->vx_ops * e->vx_fj;
	double dram = (double)work->dram_bursts * soc->chip->dram.burst_bytes * e->dram_fj_byte;

	return 1e-3 * (core * v * v + dram);
}

static void pace(uint64_t until_host_ns)
{
	uint64_t now = host_now_ns();
	struct timespec ts;

	if (now >= until_host_ns)
		return;
	ts.tv_sec = (time_t)(until_host_ns / NS_PER_S);
	ts.tv_nsec = (long)(until_host_ns % NS_PER_S);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

void sim_soc_run_advance(struct sim_soc *soc, struct sim_run *run, uint64_t now_ps,
			 const struct sim_work *work)
{
	uint64_t now_ns = now_ps / 1000;
	double pj;
	bool paced;

	pthread_mutex_lock(&soc->lock);
	pj = work_pj(soc, work);
	run->energy_pj += pj + static_watt(soc) * (now_ps - run->now_ps);
	run->now_ps = now_ps;
	soc->pending_pj += pj;
	soc->dram_rd_bytes += work->dram_rd_bytes;
	soc->dram_wr_bytes += work->dram_wr_bytes;
	if (run->start_ns + now_ns > soc->dev_ns)
		soc->dev_ns = run->start_ns + now_ns;
	heat_update(soc);
	paced = soc->pace == SIM_PACED;
	pthread_mutex_unlock(&soc->lock);
	if (paced)
		pace(run->host_start_ns + now_ns);
}

void sim_soc_run_end(struct sim_soc *soc, struct sim_run *run)
{
	(void)run;
	pthread_mutex_lock(&soc->lock);
	if (!--soc->running)
		soc->host_ns = host_now_ns();
	pthread_mutex_unlock(&soc->lock);
}

unsigned int sim_soc_running(struct sim_soc *soc)
{
	unsigned int n;

	pthread_mutex_lock(&soc->lock);
	n = soc->running;
	pthread_mutex_unlock(&soc->lock);
	return n;
}
