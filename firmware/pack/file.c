// SPDX-License-Identifier: MIT
#include "file.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *file_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;

	if (!f) {
		fprintf(stderr, "fwpack: %s: %s\n", path, strerror(errno));
		return NULL;
	}
	data = malloc(FILE_MAX + 1);
	if (!data) {
		fprintf(stderr, "fwpack: %s: no memory for %u bytes\n", path, FILE_MAX);
		goto out;
	}
	*size = fread(data, 1, FILE_MAX + 1, f);
	if (ferror(f) || *size > FILE_MAX) {
		fprintf(stderr, "fwpack: %s: %s\n", path,
			ferror(f) ? strerror(errno) : "larger than 16 MiB");
		free(data);
		data = NULL;
	}
out:
	fclose(f);
	return data;
}

int file_read_key(const char *path, uint8_t key[KEY_SIZE])
{
	const char *end = NULL;
	size_t size, len = 0;
	uint8_t *text = file_read(path, &size);
	int ret = -1;

	if (!text)
		return -1;
	while (size && (text[size - 1] == '\n' || text[size - 1] == '\r'))
		size--;
	if (size == 2 * KEY_SIZE &&
	    !sodium_hex2bin(key, KEY_SIZE, (char *)text, size, NULL, &len, &end) && len == KEY_SIZE)
		ret = 0;
	else
		fprintf(stderr, "fwpack: %s: a key is one line of %d hex digits\n", path,
			2 * KEY_SIZE);
	sodium_memzero(text, size);
	free(text);
	return ret;
}
