/* SPDX-License-Identifier: MIT */
/*
 * Interrupt messages to the host: eventfds given by the vfio-user client per MSI or MSI-X vector. A
 * message for a vector without an eventfd is kept as pending and sent when the client brings one,
 * since clients replace all eventfds while vectors are enabled one by one.  Any thread.
 */
#ifndef NPUSIM_IRQ_H
#define NPUSIM_IRQ_H

#include <stdint.h>

#include "ne1_regs.h"

enum sim_irq_index {	/* VFIO's numbers */
	SIM_IRQ_INTX = 0,
	SIM_IRQ_MSI = 1,
	SIM_IRQ_MSIX = 2,
	SIM_IRQ_ERR = 3,
	SIM_IRQ_REQ = 4,
	SIM_IRQ_INDICES = 5,
};

struct sim_fi;
struct sim_irq;

/* 0 vectors: MSI only.  NULL when memory is short. */
struct sim_irq *sim_irq_new(unsigned int msix_vectors);
void sim_irq_free(struct sim_irq *irq);

unsigned int sim_irq_count(const struct sim_irq *irq, unsigned int index);

/* Messages may get lost and the like from now on. */
void sim_irq_set_faults(struct sim_irq *irq, struct sim_fi *faults);

/* Vector @vector (NE1_IRQ_* bit number) becomes a message now, or as soon as it can. */
void sim_irq_raise(struct sim_irq *irq, unsigned int vector);
/* The same without faults: for messages that are faults. */
void sim_irq_send(struct sim_irq *irq, unsigned int vector);
uint32_t sim_irq_pending(struct sim_irq *irq);	/* the pending bit array */

/* Takes over @fd (-1: none) for vector @vector of @index, sending what is pending.  0 or -EINVAL
 * (the fd is closed then too).
 */
int sim_irq_set_eventfd(struct sim_irq *irq, unsigned int index, unsigned int vector, int fd);
/* Closes the index's eventfds, keeps what is pending. */
void sim_irq_disable(struct sim_irq *irq, unsigned int index);
void sim_irq_disconnect(struct sim_irq *irq);	/* closes all, forgets pending */
void sim_irq_clear_pending(struct sim_irq *irq); /* device reset */

#endif
