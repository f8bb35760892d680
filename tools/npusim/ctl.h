/* SPDX-License-Identifier: MIT */
/*
 * The control socket: clients ask for faults and counts while the devices run (ctl_parse.h).  One
 * thread accepts, each client has one of its own, so that a script that waits holds up nobody.
 */
#ifndef NPUSIM_CTL_H
#define NPUSIM_CTL_H

struct sim_ctl;
struct sim_device;

/* Listens when it returns; NULL with a message logged.  @devices are kept and outlive it. */
struct sim_ctl *sim_ctl_new(const char *path, struct sim_device *const *devices,
			    unsigned int n_devices);
void sim_ctl_free(struct sim_ctl *ctl);	/* ends scripts, removes the socket */

#endif
