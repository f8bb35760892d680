/* SPDX-License-Identifier: MIT */
/* Texts and lists of ids from files or standard input. */
#ifndef NPU_RUN_INPUT_H
#define NPU_RUN_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct ids {
	uint32_t *id;
	size_t n;
};

/* Reads @path whole, "-" is standard input; 0 or an exit status.  *@text is for free(). */
int read_text(const char *path, char **text, size_t *len);

/* Ids in decimal, separated by white space or commas, each below @n_vocab. */
int read_ids(const char *path, uint32_t n_vocab, struct ids *out);

#endif
