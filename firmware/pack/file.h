/* SPDX-License-Identifier: MIT */
/* Whole files in memory, and 32-byte keys as one line of hex. */
#ifndef FWPACK_FILE_H
#define FWPACK_FILE_H

#include <stddef.h>
#include <stdint.h>

#define FILE_MAX	(16u << 20)
#define KEY_SIZE	32

/* Both return NULL or -1 after a line on standard error.  The caller frees the result. */
uint8_t *file_read(const char *path, size_t *size);
int file_read_key(const char *path, uint8_t key[KEY_SIZE]);

#endif
