// SPDX-License-Identifier: MIT
/* Writes the small model of the tests to a file, for tests of programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/fp16.h"
#include "tiny_model.h"

/* Sets the first element of tensor @name, or the scale of its first block, to @value. */
static npu_status set_weight(const npu_gguf *g, uint8_t *copy, const char *name, float value)
{
	const struct npu_gguf_tensor *t;
	npu_status status = npu_gguf_tensor(g, name, &t);
	uint16_t half = fp16_narrow(value);

	if (status)
		return status;
	if (t->type == NPU_TYPE_F32)
		memcpy(copy + t->offset, &value, sizeof(value));
	else
		memcpy(copy + t->offset, &half, sizeof(half));
	return NPU_OK;
}

int main(int argc, char **argv)
{
	struct tiny_spec spec = tiny_default;
	uint8_t *copy;
	npu_gguf *g;
	FILE *f;
	int status = 1;

	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: tiny_gguf FILE POSITIONS [TENSOR VALUE]\n");
		return 2;
	}
	spec.n_ctx = (uint32_t)strtoul(argv[2], NULL, 10);
	if (tiny_open(&spec, &g, &copy) ||
	    (argc == 5 && set_weight(g, copy, argv[3], strtof(argv[4], NULL)))) {
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
