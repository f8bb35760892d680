// SPDX-License-Identifier: MIT
/* Prints each tensor of a GGUF file: name, type, then its values as the hex bits of fp32. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu/gguf.h"

static int dump(const struct npu_gguf_tensor *t)
{
	uint64_t n = t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
	float *row = malloc(n * sizeof(*row));
	uint32_t bits;

	if (!row || npu_dequant_row(t->type, t->data, row, n)) {
		fprintf(stderr, "%s: %s\n", t->name, npu_error_message());
		free(row);
		return 1;
	}
	printf("%s %s", t->name, npu_tensor_type_name(t->type));
	for (uint64_t i = 0; i < n; i++) {
		memcpy(&bits, &row[i], sizeof(bits));
		printf(" %08" PRIx32, bits);
	}
	putchar('\n');
	free(row);
	return 0;
}

int main(int argc, char **argv)
{
	npu_gguf *g;
	int status = 0;

	if (argc != 2 || npu_gguf_open(argv[1], &g)) {
		fprintf(stderr, "%s\n", argc == 2 ? npu_error_message() : "usage: gguf_dump FILE");
		return 1;
	}
	for (size_t i = 0; !status && i < npu_gguf_n_tensors(g); i++)
		status = dump(npu_gguf_tensor_at(g, i));
	npu_gguf_close(g);
	return status;
}
