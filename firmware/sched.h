/* SPDX-License-Identifier: MIT */
/* Which queue's job starts next. */
#ifndef NE1_FW_SCHED_H
#define NE1_FW_SCHED_H

#include <stdbool.h>

#include "queue.h"

void sched_init(void);

/* @q's next job may start, or not. */
void sched_set_ready(const struct queue *q, bool ready);

/* Starts jobs until none is ready or the next one does not fit. */
void sched_run(void);

#endif
