/* SPDX-License-Identifier: MIT */
/* Commands of the host. */
#ifndef NE1_FW_MSG_H
#define NE1_FW_MSG_H

/* Takes the commands that are in the ring now, as long as there is room to answer them. */
void msg_poll(void);

#endif
