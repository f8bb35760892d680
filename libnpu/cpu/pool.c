// SPDX-License-Identifier: MIT
#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "error.h"

struct worker {
	struct cpu_pool *pool;
	pthread_t thread;
	uint32_t index; /* 1.. */
};

struct cpu_pool {
	uint32_t n_threads;
	uint32_t n_started; /* workers, without the caller */
	struct worker *workers;
	pthread_mutex_t lock;
	pthread_cond_t start, done;
	uint64_t generation; /* of the loop; guarded by lock, like all below but next */
	uint32_t running;    /* workers that have not finished this generation */
	bool stop;
	cpu_pool_fn fn;
	void *arg;
	uint32_t n_items;
	uint32_t next; /* atomic: first item that nobody took */
};

static void take_items(struct cpu_pool *pool, uint32_t thread)
{
	for (;;) {
		uint32_t item = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);

		if (item >= pool->n_items)
			return;
		pool->fn(pool->arg, item, thread);
	}
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct cpu_pool *pool = w->pool;
	uint64_t seen = 0;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (pool->generation == seen && !pool->stop)
			pthread_cond_wait(&pool->start, &pool->lock);
		if (pool->stop)
			break;
		seen = pool->generation;
		pthread_mutex_unlock(&pool->lock);
		take_items(pool, w->index);
		pthread_mutex_lock(&pool->lock);
		if (--pool->running == 0)
			pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

npu_status cpu_pool_new(uint32_t n_threads, struct cpu_pool **out)
{
	struct cpu_pool *pool = calloc(1, sizeof(*pool));

	*out = NULL;
	if (!pool)
		return npu_fail(NPU_ERR_NOMEM, "thread pool: out of memory");
	pool->n_threads = n_threads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->start, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->workers = calloc(n_threads, sizeof(*pool->workers));
	if (!pool->workers) {
		cpu_pool_del(pool);
		return npu_fail(NPU_ERR_NOMEM, "thread pool: no memory for %u threads", n_threads);
	}
	for (uint32_t i = 1; i < n_threads; i++) {
		struct worker *w = &pool->workers[pool->n_started];

		w->pool = pool;
		w->index = i;
		if (pthread_create(&w->thread, NULL, worker_main, w)) {
			cpu_pool_del(pool);
			return npu_fail(NPU_ERR_NOMEM, "thread pool: cannot start thread %u of %u",
					i, n_threads);
		}
		pool->n_started++;
	}
	*out = pool;
	return NPU_OK;
}

void cpu_pool_del(struct cpu_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->start);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = 0; i < pool->n_started; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->start);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool);
}

uint32_t cpu_pool_threads(const struct cpu_pool *pool)
{
	return pool->n_threads;
}

void cpu_pool_run(struct cpu_pool *pool, cpu_pool_fn fn, void *arg, uint32_t n_items)
{
	if (pool->n_started == 0 || n_items == 1) {
		for (uint32_t i = 0; i < n_items; i++)
			fn(arg, i, 0);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	pool->fn = fn;
	pool->arg = arg;
	pool->n_items = n_items;
	__atomic_store_n(&pool->next, 0, __ATOMIC_RELAXED);
	pool->running = pool->n_started;
	pool->generation++;
	pthread_cond_broadcast(&pool->start);
	pthread_mutex_unlock(&pool->lock);

	take_items(pool, 0);

	pthread_mutex_lock(&pool->lock);
	while (pool->running)
		pthread_cond_wait(&pool->done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
