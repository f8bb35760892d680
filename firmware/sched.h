/* SPDX-License-Identifier: MIT */
/* Which queue's job starts next, and which running job makes room for it. */
#ifndef NE1_FW_SCHED_H
#define NE1_FW_SCHED_H

#include <stdbool.h>

#include "queue.h"

void sched_init(void);

/* A job of @q may start or go on, or not. */
void sched_set_ready(struct queue *q, bool ready);

/* TIMER_PATIENCE has come: of those who have waited for too long one gets its turn. */
void sched_end_patience(void);

/* Starts jobs until none is ready or the next one does not fit; then asks for the YIELDs that it
 * needs.
 */
void sched_run(void);

#endif
