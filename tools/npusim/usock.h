/* SPDX-License-Identifier: MIT */
/* UNIX sockets to be found by their path. */
#ifndef NPUSIM_USOCK_H
#define NPUSIM_USOCK_H

/*
 * A socket that listens at @path; the path appears when it does.  What an ended process left there
 * is replaced, anything else is not.  -1 with a message logged.
 */
int sim_listen(const char *path);

#endif
