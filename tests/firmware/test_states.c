// SPDX-License-Identifier: MIT
/*
 * Every state that a queue can be in, times everything that can happen to it.  The subject is
 * queue 1 on the only core; queue 5 is of a higher priority and takes the core where the state
 * needs that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "host.h"

#define SUBJECT		1
#define OTHER		5
#define VM		7

enum state {
	FREE, IDLE, WAITING, RUNNING, ASIDE, SUSPENDING, SUSPENDED, SUSPENDED_WAITING,
	SUSPENDED_ASIDE, RESETTING, DESTROYING, FAULTED, FAULTED_RUNNING, FAULTED_ASIDE, STATES
};

enum event {
	CREATE, DESTROY, SUSPEND, RESUME, RESET, FLUSH, SHUTDOWN, DOORBELL, BAD_TAIL, TIMER,
	CORE_DONE, CORE_FAULT, CORE_YIELD, EVENTS
};

static const char *const state_names[STATES] = {
	"free", "idle", "waiting", "running", "aside", "suspending", "suspended",
	"suspended, waiting", "suspended, aside", "resetting", "destroying", "faulted",
	"faulted, running", "faulted, aside",
};

static const char *const event_names[EVENTS] = {
	"CREATE", "DESTROY", "SUSPEND", "RESUME", "RESET", "VM_FLUSH", "SHUTDOWN", "doorbell",
	"bad tail", "timer", "core done", "core fault", "core yield",
};

/* How the subject is afterwards: its state, and its job. */
enum job { NONE, ON_CORE, PUT_ASIDE };

struct outcome {
	int8_t reply;		/* LATER: none yet; SILENT: the event is no command */
	uint8_t state;		/* enum ne1_queue_state */
	uint8_t job;		/* enum job */
};

#define LATER	-1
#define SILENT	-2
#define BAD	NE1_MSG_BAD_STATE
#define F	NE1_QUEUE_FREE
#define K	NE1_QUEUE_OK
#define S	NE1_QUEUE_SUSPENDED
#define X	NE1_QUEUE_FAULTED

/* Where the core works for somebody else, its events are his and nothing happens to the subject -
 * but the end of his job gives it the core, if it is ready.
 */
static const struct outcome table[STATES][EVENTS] = {
	[FREE] = {
		[CREATE] = { 0, K, NONE }, [DESTROY] = { BAD, F, NONE },
		[SUSPEND] = { BAD, F, NONE },
		[RESUME] = { BAD, F, NONE }, [RESET] = { BAD, F, NONE }, [FLUSH] = { 0, F, NONE },
		[SHUTDOWN] = { 0, F, NONE }, [DOORBELL] = { SILENT, F, NONE },
		[BAD_TAIL] = { SILENT, F, NONE }, [TIMER] = { SILENT, F, NONE },
		[CORE_DONE] = { SILENT, F, NONE }, [CORE_FAULT] = { SILENT, F, NONE },
		[CORE_YIELD] = { SILENT, F, NONE },
	},
	[IDLE] = {
		[CREATE] = { BAD, K, NONE }, [DESTROY] = { 0, F, NONE }, [SUSPEND] = { 0, S, NONE },
		[RESUME] = { BAD, K, NONE }, [RESET] = { 0, K, NONE }, [FLUSH] = { 0, K, NONE },
		[SHUTDOWN] = { 0, K, NONE }, [DOORBELL] = { SILENT, K, ON_CORE },
		[BAD_TAIL] = { SILENT, X, NONE }, [TIMER] = { SILENT, K, NONE },
		[CORE_DONE] = { SILENT, K, NONE }, [CORE_FAULT] = { SILENT, K, NONE },
		[CORE_YIELD] = { SILENT, K, NONE },
	},
	[WAITING] = {
		[CREATE] = { BAD, K, NONE }, [DESTROY] = { 0, F, NONE }, [SUSPEND] = { 0, S, NONE },
		[RESUME] = { BAD, K, NONE }, [RESET] = { 0, K, NONE }, [FLUSH] = { 0, K, NONE },
		[SHUTDOWN] = { LATER, K, NONE }, [DOORBELL] = { SILENT, K, NONE },
		[BAD_TAIL] = { SILENT, X, NONE }, [TIMER] = { SILENT, K, NONE },
		[CORE_DONE] = { SILENT, K, ON_CORE }, [CORE_FAULT] = { SILENT, K, ON_CORE },
		[CORE_YIELD] = { SILENT, K, NONE },
	},
	[RUNNING] = {
		[CREATE] = { BAD, K, ON_CORE }, [DESTROY] = { LATER, K, ON_CORE },
		[SUSPEND] = { LATER, K, ON_CORE }, [RESUME] = { BAD, K, ON_CORE },
		[RESET] = { LATER, K, ON_CORE }, [FLUSH] = { BAD, K, ON_CORE },
		[SHUTDOWN] = { LATER, K, ON_CORE }, [DOORBELL] = { SILENT, K, ON_CORE },
		[BAD_TAIL] = { SILENT, X, ON_CORE }, [TIMER] = { SILENT, K, ON_CORE },
		[CORE_DONE] = { SILENT, K, NONE }, [CORE_FAULT] = { SILENT, X, NONE },
		[CORE_YIELD] = { SILENT, K, PUT_ASIDE },
	},
	[ASIDE] = {
		[CREATE] = { BAD, K, PUT_ASIDE }, [DESTROY] = { 0, F, NONE },
		[SUSPEND] = { 0, S, PUT_ASIDE }, [RESUME] = { BAD, K, PUT_ASIDE },
		[RESET] = { 0, K, NONE }, [FLUSH] = { BAD, K, PUT_ASIDE },
		[SHUTDOWN] = { LATER, K, NONE }, [DOORBELL] = { SILENT, K, PUT_ASIDE },
		[BAD_TAIL] = { SILENT, X, PUT_ASIDE }, [TIMER] = { SILENT, K, PUT_ASIDE },
		[CORE_DONE] = { SILENT, K, ON_CORE }, [CORE_FAULT] = { SILENT, K, ON_CORE },
		[CORE_YIELD] = { SILENT, K, PUT_ASIDE },
	},
	[SUSPENDING] = {
		[CREATE] = { BAD, K, ON_CORE }, [DESTROY] = { LATER, K, ON_CORE },
		[SUSPEND] = { BAD, K, ON_CORE }, [RESUME] = { BAD, K, ON_CORE },
		[RESET] = { LATER, K, ON_CORE }, [FLUSH] = { BAD, K, ON_CORE },
		[SHUTDOWN] = { LATER, K, ON_CORE }, [DOORBELL] = { SILENT, K, ON_CORE },
		[BAD_TAIL] = { SILENT, X, ON_CORE }, [TIMER] = { SILENT, K, ON_CORE },
		[CORE_DONE] = { SILENT, S, NONE }, [CORE_FAULT] = { SILENT, X, NONE },
		[CORE_YIELD] = { SILENT, S, PUT_ASIDE },
	},
	[SUSPENDED] = {
		[CREATE] = { BAD, S, NONE }, [DESTROY] = { 0, F, NONE },
		[SUSPEND] = { BAD, S, NONE },
		[RESUME] = { 0, K, NONE }, [RESET] = { 0, K, NONE }, [FLUSH] = { 0, S, NONE },
		[SHUTDOWN] = { 0, S, NONE }, [DOORBELL] = { SILENT, S, NONE },
		[BAD_TAIL] = { SILENT, X, NONE }, [TIMER] = { SILENT, S, NONE },
		[CORE_DONE] = { SILENT, S, NONE }, [CORE_FAULT] = { SILENT, S, NONE },
		[CORE_YIELD] = { SILENT, S, NONE },
	},
	[SUSPENDED_WAITING] = {
		[CREATE] = { BAD, S, NONE }, [DESTROY] = { 0, F, NONE },
		[SUSPEND] = { BAD, S, NONE },
		[RESUME] = { 0, K, ON_CORE }, [RESET] = { 0, K, NONE }, [FLUSH] = { 0, S, NONE },
		[SHUTDOWN] = { 0, S, NONE }, [DOORBELL] = { SILENT, S, NONE },
		[BAD_TAIL] = { SILENT, X, NONE }, [TIMER] = { SILENT, S, NONE },
		[CORE_DONE] = { SILENT, S, NONE }, [CORE_FAULT] = { SILENT, S, NONE },
		[CORE_YIELD] = { SILENT, S, NONE },
	},
	[SUSPENDED_ASIDE] = {
		[CREATE] = { BAD, S, PUT_ASIDE }, [DESTROY] = { 0, F, NONE },
		[SUSPEND] = { BAD, S, PUT_ASIDE }, [RESUME] = { 0, K, ON_CORE },
		[RESET] = { 0, K, NONE }, [FLUSH] = { BAD, S, PUT_ASIDE },
		[SHUTDOWN] = { 0, S, NONE }, [DOORBELL] = { SILENT, S, PUT_ASIDE },
		[BAD_TAIL] = { SILENT, X, PUT_ASIDE }, [TIMER] = { SILENT, S, PUT_ASIDE },
		[CORE_DONE] = { SILENT, S, PUT_ASIDE }, [CORE_FAULT] = { SILENT, S, PUT_ASIDE },
		[CORE_YIELD] = { SILENT, S, PUT_ASIDE },
	},
	[RESETTING] = {
		[CREATE] = { BAD, K, ON_CORE }, [DESTROY] = { BAD, K, ON_CORE },
		[SUSPEND] = { BAD, K, ON_CORE }, [RESUME] = { BAD, K, ON_CORE },
		[RESET] = { BAD, K, ON_CORE }, [FLUSH] = { BAD, K, ON_CORE },
		[SHUTDOWN] = { LATER, K, ON_CORE }, [DOORBELL] = { SILENT, K, ON_CORE },
		[BAD_TAIL] = { SILENT, X, ON_CORE }, [TIMER] = { SILENT, K, ON_CORE },
		[CORE_DONE] = { SILENT, K, NONE }, [CORE_FAULT] = { SILENT, K, NONE },
		[CORE_YIELD] = { SILENT, K, NONE },
	},
	[DESTROYING] = {
		[CREATE] = { BAD, K, ON_CORE }, [DESTROY] = { BAD, K, ON_CORE },
		[SUSPEND] = { BAD, K, ON_CORE }, [RESUME] = { BAD, K, ON_CORE },
		[RESET] = { BAD, K, ON_CORE }, [FLUSH] = { BAD, K, ON_CORE },
		[SHUTDOWN] = { LATER, K, ON_CORE }, [DOORBELL] = { SILENT, K, ON_CORE },
		[BAD_TAIL] = { SILENT, X, ON_CORE }, [TIMER] = { SILENT, K, ON_CORE },
		[CORE_DONE] = { SILENT, F, NONE }, [CORE_FAULT] = { SILENT, F, NONE },
		[CORE_YIELD] = { SILENT, F, NONE },
	},
	[FAULTED] = {
		[CREATE] = { BAD, X, NONE }, [DESTROY] = { 0, F, NONE },
		[SUSPEND] = { BAD, X, NONE },
		[RESUME] = { BAD, X, NONE }, [RESET] = { 0, K, NONE }, [FLUSH] = { 0, X, NONE },
		[SHUTDOWN] = { 0, X, NONE }, [DOORBELL] = { SILENT, X, NONE },
		[BAD_TAIL] = { SILENT, X, NONE }, [TIMER] = { SILENT, X, NONE },
		[CORE_DONE] = { SILENT, X, NONE }, [CORE_FAULT] = { SILENT, X, NONE },
		[CORE_YIELD] = { SILENT, X, NONE },
	},
	[FAULTED_RUNNING] = {
		[CREATE] = { BAD, X, ON_CORE }, [DESTROY] = { LATER, X, ON_CORE },
		[SUSPEND] = { BAD, X, ON_CORE }, [RESUME] = { BAD, X, ON_CORE },
		[RESET] = { LATER, X, ON_CORE }, [FLUSH] = { BAD, X, ON_CORE },
		[SHUTDOWN] = { LATER, X, ON_CORE }, [DOORBELL] = { SILENT, X, ON_CORE },
		[BAD_TAIL] = { SILENT, X, ON_CORE }, [TIMER] = { SILENT, X, ON_CORE },
		[CORE_DONE] = { SILENT, X, NONE }, [CORE_FAULT] = { SILENT, X, NONE },
		[CORE_YIELD] = { SILENT, X, PUT_ASIDE },
	},
	[FAULTED_ASIDE] = {
		[CREATE] = { BAD, X, PUT_ASIDE }, [DESTROY] = { 0, F, NONE },
		[SUSPEND] = { BAD, X, PUT_ASIDE }, [RESUME] = { BAD, X, PUT_ASIDE },
		[RESET] = { 0, K, NONE }, [FLUSH] = { BAD, X, PUT_ASIDE },
		[SHUTDOWN] = { LATER, X, NONE }, [DOORBELL] = { SILENT, X, PUT_ASIDE },
		[BAD_TAIL] = { SILENT, X, PUT_ASIDE }, [TIMER] = { SILENT, X, PUT_ASIDE },
		[CORE_DONE] = { SILENT, X, PUT_ASIDE }, [CORE_FAULT] = { SILENT, X, PUT_ASIDE },
		[CORE_YIELD] = { SILENT, X, PUT_ASIDE },
	},
};

static bool core_runs(void)
{
	return shim.cores[0].regs[NE1_MC_CORE_STATE / 4] == NE1_CORE_RUNNING;
}

static void bad_tail(void)
{
	host_queue(SUBJECT)->tail += 1000;
	host_doorbell(SUBJECT);
	shim_run();
	host_queue(SUBJECT)->tail -= 1000;
}

/* The subject's job runs, the other's comes, and it yields. */
static void put_aside(void)
{
	host_submit(SUBJECT, 1);
	host_submit(OTHER, 1);
	shim_core_yield(0, 3, 10);
	shim_run();
	assert_int_equal(host_queue(SUBJECT)->preempted, 1);
}

static void send_later(unsigned int type)
{
	host_submit(SUBJECT, 1);
	assert_int_equal(host_simple(type, SUBJECT), LATER);
}

static void suspend_aside(void)
{
	send_later(NE1_CMD_QUEUE_SUSPEND);
	shim_core_yield(0, 3, 10);
	shim_run();
}

static void enter(enum state state)
{
	struct ne1_msg msg;

	shim_reset();
	host_layout();
	shim.cap_cores = 1;
	assert_true(shim_boot());
	host_create(OTHER, 9, NE1_PRIO_HIGH);
	if (state == FREE)
		return;
	host_create(SUBJECT, VM, NE1_PRIO_LOW);
	switch (state) {
	case WAITING:
		host_submit(OTHER, 1);
		host_submit(SUBJECT, 1);
		break;
	case RUNNING:
		host_submit(SUBJECT, 1);
		break;
	case FAULTED_ASIDE:
	case ASIDE:
		put_aside();
		break;
	case SUSPENDING:
		send_later(NE1_CMD_QUEUE_SUSPEND);
		break;
	case RESETTING:
		send_later(NE1_CMD_QUEUE_RESET);
		break;
	case DESTROYING:
		send_later(NE1_CMD_QUEUE_DESTROY);
		break;
	case SUSPENDED_ASIDE:
		suspend_aside();
		break;
	case SUSPENDED:
	case SUSPENDED_WAITING:
		assert_int_equal(host_simple(NE1_CMD_QUEUE_SUSPEND, SUBJECT), NE1_MSG_OK);
		if (state == SUSPENDED_WAITING)
			host_submit(SUBJECT, 1);
		break;
	case FAULTED_RUNNING:
		host_submit(SUBJECT, 1);
		break;
	default:
		break;
	}
	if (state == FAULTED || state == FAULTED_RUNNING || state == FAULTED_ASIDE)
		bad_tail();
	while (host_event(&msg))
		;
}

/* What a core does, if one runs.  It yields only if it is asked to, so somebody asks. */
static void core_event(enum event event)
{
	if (!core_runs())
		shim.irq_pending |= NE1_MC_IRQ_CORE;
	else if (event == CORE_DONE)
		shim_core_end(0, NE1_FAULT_NONE, 10);
	else if (event == CORE_FAULT)
		shim_core_end(0, NE1_FAULT_MMU, 10);
	else if (host_queue(SUBJECT)->on_core)
		shim_core_yield(0, 5, 10);
	shim_run();
}

/* Does @event; the reply to it, if it is a command. */
static int happen(enum event event)
{
	static const unsigned int types[] = {
		[DESTROY] = NE1_CMD_QUEUE_DESTROY, [SUSPEND] = NE1_CMD_QUEUE_SUSPEND,
		[RESUME] = NE1_CMD_QUEUE_RESUME, [RESET] = NE1_CMD_QUEUE_RESET,
	};
	struct ne1_msg msg = host_create_msg(SUBJECT, VM, NE1_PRIO_LOW), old;
	uint32_t id;
	int reply = LATER;

	switch (event) {
	case DOORBELL:
		host_submit(SUBJECT, 1);
		return SILENT;
	case BAD_TAIL:
		bad_tail();
		return SILENT;
	case TIMER:
		shim_pass(60000000);
		shim_run();
		return SILENT;
	case CORE_DONE:
	case CORE_FAULT:
	case CORE_YIELD:
		core_event(event);
		return SILENT;
	case CREATE:
		break;
	case FLUSH:
		msg = (struct ne1_msg){ .type = NE1_CMD_VM_FLUSH, .queue = VM };
		break;
	case SHUTDOWN:
		msg = (struct ne1_msg){ .type = NE1_CMD_SHUTDOWN };
		break;
	default:
		msg = (struct ne1_msg){ .type = (uint16_t)types[event], .queue = SUBJECT };
	}
	id = host_push(&msg);
	host_ring();
	/* the reply to a command from before may come first */
	while (host_event(&old)) {
		if (old.type == NE1_EVT_REPLY && old.id == id)
			reply = old.status;
	}
	return reply;
}

static enum job job_now(void)
{
	const struct ne1_fw_queue *q = host_queue(SUBJECT);

	if (!q->run_seqno)
		return NONE;
	return q->on_core ? ON_CORE : PUT_ASIDE;
}

static void check(enum state state, enum event event)
{
	const struct outcome *want = &table[state][event];
	uint8_t queue_state;
	int reply;

	enter(state);
	if (event == CORE_YIELD && host_queue(SUBJECT)->on_core)
		host_submit(OTHER, 1);
	reply = happen(event);
	queue_state = (uint8_t)host_queue(SUBJECT)->state;
	if (reply != want->reply || queue_state != want->state || job_now() != want->job)
		fail_msg("%s, %s: reply %d state %u job %u, not %d %u %u", state_names[state],
			 event_names[event], reply, queue_state, job_now(), want->reply,
			 want->state, want->job);
	assert_int_equal(shim.violations, 0);
}

static void all_pairs(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < STATES; s++) {
		for (unsigned int e = 0; e < EVENTS; e++)
			check((enum state)s, (enum event)e);
	}
}

/* From wherever it is, RESET (or CREATE) makes a queue work again once its core has stopped. */
static void all_come_back(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < STATES; s++) {
		struct ne1_fw_queue *q = host_queue(SUBJECT);
		struct ne1_msg msg;

		enter((enum state)s);
		happen(RESET);
		for (unsigned int i = 0; i < 2; i++) {
			if (!core_runs())
				continue;
			shim_core_end(0, NE1_FAULT_STOPPED, 1);
			shim_run();
		}
		while (host_event(&msg))
			;
		if (q->state == NE1_QUEUE_FREE)
			host_create(SUBJECT, VM, NE1_PRIO_LOW);
		assert_int_equal(q->state, NE1_QUEUE_OK);
		host_submit(SUBJECT, 1);
		assert_int_equal(job_now(), ON_CORE);
		assert_int_equal(shim.cores[0].pos, 0);
		shim_core_end(0, NE1_FAULT_NONE, 1);
		shim_run();
		assert_int_equal(q->done_seqno, q->tail);
		assert_int_equal(shim.violations, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pairs),
		cmocka_unit_test(all_come_back),
	};

	return cmocka_run_group_tests_name("firmware queue states", tests, NULL, NULL);
}
