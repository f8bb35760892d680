// SPDX-License-Identifier: MIT
/* Writes the small model of the tests to a file, for tests of programs. */
#include <stdio.h>
#include <stdlib.h>

#include "tiny_model.h"

int main(int argc, char **argv)
{
	struct tiny_spec spec = tiny_default;
	uint8_t *copy;
	npu_gguf *g;
	FILE *f;
	int status = 1;

	if (argc != 3) {
		fprintf(stderr, "usage: tiny_gguf FILE POSITIONS\n");
		return 2;
	}
	spec.n_ctx = (uint32_t)strtoul(argv[2], NULL, 10);
	if (tiny_open(&spec, &g, &copy)) {
		fprintf(stderr, "%s\n", npu_error_message());
		return 1;
	}
	f = fopen(argv[1], "wb");
	if (f) {
		status = fwrite(copy, npu_gguf_size(g), 1, f) != 1;
		status |= fclose(f) != 0;
	}
	if (status)
		perror(argv[1]);
	npu_gguf_close(g);
	free(copy);
	return status;
}
