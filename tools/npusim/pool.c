// SPDX-License-Identifier: MIT
/*
 * Work sharing by one atomic word: generation, number of items and next item.  Whoever advances the
 * next item below the number owns that item, and the batch cannot end before it is done; a worker
 * that comes late finds nothing to own and never holds up the caller.
 */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NEXT_BITS	24
#define ITEM_MASK	((1ull << NEXT_BITS) - 1)
#define SPINS		300	/* some microseconds: the gap between commands of one stream */
#define YIELD_AFTER	200
#define LATE_NS		300000u
#define ALONE_BATCHES	100

struct sim_pool {
	unsigned int threads;		/* with the caller */
	unsigned int workers;		/* started */
	pthread_t *worker;
	void (*fn)(void *arg, unsigned int i);
	void *arg;
	unsigned int alone;		/* so many batches are not shared */
	_Alignas(64) _Atomic uint64_t state; /* generation 63:48, items 47:24, next 23:0 */
	_Alignas(64) atomic_uint done;
	_Alignas(64) atomic_uint sleepers;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool quit;
};

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static bool has_items(uint64_t state)
{
	return (state & ITEM_MASK) < (state >> NEXT_BITS & ITEM_MASK);
}

static void work(struct sim_pool *pool)
{
	uint64_t s;

	while (has_items(atomic_load(&pool->state))) {
		s = atomic_fetch_add(&pool->state, 1);
		if (!has_items(s))
			return;
		pool->fn(pool->arg, (unsigned int)(s & ITEM_MASK));
		atomic_fetch_add(&pool->done, 1);
	}
}

static bool wait_for_items(struct sim_pool *pool)
{
	unsigned int i;
	bool quit;

	for (i = 0; i < SPINS; i++) {
		if (has_items(atomic_load(&pool->state)))
			return true;
		relax();
	}
	pthread_mutex_lock(&pool->lock);
	atomic_fetch_add(&pool->sleepers, 1);
	while (!pool->quit && !has_items(atomic_load(&pool->state)))
		pthread_cond_wait(&pool->wake, &pool->lock);
	atomic_fetch_sub(&pool->sleepers, 1);
	quit = pool->quit;
	pthread_mutex_unlock(&pool->lock);
	return !quit;
}

static void *worker_main(void *arg)
{
	struct sim_pool *pool = arg;

	while (wait_for_items(pool))
		work(pool);
	return NULL;
}

struct sim_pool *sim_pool_new(unsigned int threads)
{
	struct sim_pool *pool = aligned_alloc(64, sizeof(*pool));

	if (!pool)
		return NULL;
	*pool = (struct sim_pool){ .threads = threads };
	pool->worker = calloc(threads, sizeof(*pool->worker));
	if (!pool->worker) {
		free(pool);
		return NULL;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	return pool;
}

void sim_pool_free(struct sim_pool *pool)
{
	unsigned int i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->quit = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->workers; i++)
		pthread_join(pool->worker[i], NULL);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool->worker);
	free(pool);
}

/* A host without a further thread to give just works alone. */
static void start_workers(struct sim_pool *pool)
{
	while (pool->workers + 1 < pool->threads) {
		if (pthread_create(&pool->worker[pool->workers], NULL, worker_main, pool)) {
			pool->threads = pool->workers + 1;
			return;
		}
		pool->workers++;
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + ts.tv_nsec;
}

/* On a busy host a worker may lose its CPU within an item: sharing then costs more. */
static void wait_for_workers(struct sim_pool *pool, unsigned int n)
{
	unsigned int i;
	uint64_t t;

	for (i = 0; i < YIELD_AFTER; i++) {
		if (atomic_load(&pool->done) == n)
			return;
		relax();
	}
	t = now_ns();
	while (atomic_load(&pool->done) != n)
		sched_yield();
	if (now_ns() - t > LATE_NS)
		pool->alone = ALONE_BATCHES;
}

void sim_pool_run(struct sim_pool *pool, void (*fn)(void *arg, unsigned int i), void *arg,
		  unsigned int n)
{
	uint64_t gen = (atomic_load(&pool->state) >> 2 * NEXT_BITS) + 1;
	unsigned int i;

	if (pool->threads == 1 || n < 2 || pool->alone) {
		pool->alone -= pool->alone > 0;
		for (i = 0; i < n; i++)
			fn(arg, i);
		return;
	}
	start_workers(pool);
	pool->fn = fn;
	pool->arg = arg;
	atomic_store(&pool->done, 0);
	atomic_store(&pool->state, gen << 2 * NEXT_BITS | (uint64_t)n << NEXT_BITS);
	if (atomic_load(&pool->sleepers)) {
		pthread_mutex_lock(&pool->lock);
		pthread_cond_broadcast(&pool->wake);
		pthread_mutex_unlock(&pool->lock);
	}
	work(pool);
	wait_for_workers(pool, n);
}

unsigned int sim_pool_threads(const struct sim_pool *pool)
{
	return pool->threads;
}
