/* SPDX-License-Identifier: MIT */
/* Dependencies between commands; stream.h explains. */
#ifndef LIBNPU_COMPILE_TRACK_H
#define LIBNPU_COMPILE_TRACK_H

#include "compile/stream.h"

#define GRANULE		256u	/* bytes of SRAM that are tracked as one */

/* Give @cmd, about to be appended to @engine, the waits that its accesses need. */
void track_waits(struct stream *s, unsigned int engine, union ne1_cmd *cmd,
		 const struct access *acc, uint32_t n);
/* Note the accesses of the command that was appended last. */
void track_record(struct stream *s, unsigned int engine, const struct access *acc, uint32_t n);

#endif
