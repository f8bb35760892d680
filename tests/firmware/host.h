/* SPDX-License-Identifier: MIT */
/* The host's side of the shared region, for tests: lays it out, sends commands, submits jobs. */
#ifndef TESTS_FIRMWARE_HOST_H
#define TESTS_FIRMWARE_HOST_H

#include "shim.h"

#define HOST_QUEUES	40
#define HOST_ENTRIES	8	/* of every queue's ring */
#define HOST_EVENTS	16
#define HOST_COMMANDS	16
#define HOST_LOG	4096
#define HOST_SLICE_NS	10000000ull	/* the firmware's default */

/* Where host_layout() puts things. */
enum {
	HOST_CMD_CTL = 0x400, HOST_EVT_CTL = 0x480, HOST_LOG_CTL = 0x500,
	HOST_CMD_RING = 0x1000, HOST_EVT_RING = 0x2000, HOST_LOG_RING = 0x4000, HOST_TABLE = 0x6000,
	HOST_COUNTERS = 0x8000,
	HOST_JOBS = 0x10000, HOST_RESULTS = 0x40000,
};

struct ne1_fw_if *host_if(void);
struct ne1_fw_queue *host_queue(unsigned int queue);
struct ne1_job *host_job(unsigned int queue, unsigned int slot);
struct ne1_job_result *host_result(unsigned int queue, unsigned int slot);
struct ne1_ring_ctl *host_ctl(uint32_t va);
struct ne1_fw_counters *host_counters(unsigned int queue);

/* A good description of the region; nothing boots yet. */
void host_layout(void);

/* Power-on, layout, boot; fails the test if the firmware is not READY. */
void host_boot(void);

/* The same on a chip of so many cores and address spaces. */
void host_boot_cores(unsigned int cores, unsigned int asids);

/* cmocka's teardown: fails the test if the firmware has broken a rule of the hardware. */
int host_teardown(void **state);

/* Queues a command without ringing; its id.  host_ring() makes the firmware look. */
uint32_t host_push(const struct ne1_msg *msg);
void host_ring(void);

/* Next event; false if there is none. */
bool host_event(struct ne1_msg *msg);

/* Sends, runs, returns the status of the reply, which must be the next event; -1 if none came. */
int host_command(const struct ne1_msg *msg);
int host_simple(unsigned int type, uint32_t queue);

/* A QUEUE_CREATE that is right; VM @vm has page table vm << 12. */
struct ne1_msg host_create_msg(unsigned int queue, uint32_t vm, unsigned int priority);
void host_create(unsigned int queue, uint32_t vm, unsigned int priority);

/* Writes a good job into the ring and returns it, so that a test may spoil it. */
struct ne1_job *host_add_job(unsigned int queue, unsigned int cores);
void host_doorbell(unsigned int queue);

/* host_add_job() and host_doorbell() and run. */
void host_submit(unsigned int queue, unsigned int cores);

/* The log ring as a string, oldest first. */
const char *host_log(void);

#endif
