// SPDX-License-Identifier: MIT
#include "irq.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fault_points.h"

struct sim_irq {
	pthread_mutex_t lock;
	unsigned int msix_vectors;
	struct sim_fi *faults;
	int msi;			/* eventfds, -1: none */
	int msix[NE1_MSIX_VECTORS];
	uint32_t pending;
};

struct sim_irq *sim_irq_new(unsigned int msix_vectors)
{
	struct sim_irq *irq;

	if (msix_vectors > NE1_MSIX_VECTORS)
		return NULL;
	irq = calloc(1, sizeof(*irq));
	if (!irq)
		return NULL;
	pthread_mutex_init(&irq->lock, NULL);
	irq->msix_vectors = msix_vectors;
	irq->msi = -1;
	for (unsigned int i = 0; i < NE1_MSIX_VECTORS; i++)
		irq->msix[i] = -1;
	return irq;
}

void sim_irq_free(struct sim_irq *irq)
{
	if (!irq)
		return;
	sim_irq_disconnect(irq);
	pthread_mutex_destroy(&irq->lock);
	free(irq);
}

unsigned int sim_irq_count(const struct sim_irq *irq, unsigned int index)
{
	switch (index) {
	case SIM_IRQ_MSI:
		return 1;
	case SIM_IRQ_MSIX:
		return irq->msix_vectors;
	default:
		return 0;
	}
}

/* The eventfd that carries @vector now: with MSI-X in use its own, else the one of MSI. */
static int carrier(const struct sim_irq *irq, unsigned int vector)
{
	for (unsigned int i = 0; i < irq->msix_vectors; i++)
		if (irq->msix[i] >= 0)
			return vector < irq->msix_vectors ? irq->msix[vector] : -1;
	return irq->msi;
}

static void send_message(int fd)
{
	uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	/* EAGAIN: the counter is full, so the reader has an event to read anyway. */
	(void)n;
}

static void send_pending(struct sim_irq *irq)
{
	int last = -1;

	for (unsigned int v = 0; v < NE1_MSIX_VECTORS; v++) {
		int fd = irq->pending & 1u << v ? carrier(irq, v) : -1;

		if (fd < 0)
			continue;
		irq->pending &= ~(1u << v);
		if (fd != last)		/* one message is enough for a shared vector */
			send_message(fd);
		last = fd;
	}
}

void sim_irq_set_faults(struct sim_irq *irq, struct sim_fi *faults)
{
	irq->faults = faults;
}

void sim_irq_raise(struct sim_irq *irq, unsigned int vector)
{
	int sent = sim_fi_irq(irq->faults, vector);

	if (sent >= 0)
		sim_irq_send(irq, (unsigned int)sent);
}

void sim_irq_send(struct sim_irq *irq, unsigned int vector)
{
	sim_fi_irq_sent(irq->faults, vector);
	pthread_mutex_lock(&irq->lock);
	irq->pending |= 1u << vector;
	send_pending(irq);
	pthread_mutex_unlock(&irq->lock);
}

uint32_t sim_irq_pending(struct sim_irq *irq)
{
	uint32_t pending;

	pthread_mutex_lock(&irq->lock);
	pending = irq->pending;
	pthread_mutex_unlock(&irq->lock);
	return pending;
}

static void replace(int *slot, int fd)
{
	if (*slot >= 0)
		close(*slot);
	*slot = fd;
}

int sim_irq_set_eventfd(struct sim_irq *irq, unsigned int index, unsigned int vector, int fd)
{
	if (vector >= sim_irq_count(irq, index)) {
		if (fd >= 0)
			close(fd);
		return -EINVAL;
	}
	pthread_mutex_lock(&irq->lock);
	replace(index == SIM_IRQ_MSI ? &irq->msi : &irq->msix[vector], fd);
	send_pending(irq);
	pthread_mutex_unlock(&irq->lock);
	return 0;
}

void sim_irq_disable(struct sim_irq *irq, unsigned int index)
{
	pthread_mutex_lock(&irq->lock);
	if (index == SIM_IRQ_MSI)
		replace(&irq->msi, -1);
	if (index == SIM_IRQ_MSIX)
		for (unsigned int i = 0; i < NE1_MSIX_VECTORS; i++)
			replace(&irq->msix[i], -1);
	pthread_mutex_unlock(&irq->lock);
}

void sim_irq_disconnect(struct sim_irq *irq)
{
	sim_irq_disable(irq, SIM_IRQ_MSI);
	sim_irq_disable(irq, SIM_IRQ_MSIX);
	sim_irq_clear_pending(irq);
}

void sim_irq_clear_pending(struct sim_irq *irq)
{
	pthread_mutex_lock(&irq->lock);
	irq->pending = 0;
	pthread_mutex_unlock(&irq->lock);
}
