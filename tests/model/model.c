// SPDX-License-Identifier: MIT
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "path.h"

void ok_(npu_status status, const char *what, int line)
{
	if (status)
		fail_msg("line %d: %s: %s (%s)", line, what, npu_status_str(status),
			 npu_error_message());
}

npu_gguf *open_model(void)
{
	char buf[4096];
	npu_gguf *model;

	ok(npu_gguf_open(model_path(buf, sizeof(buf)), &model));
	return model;
}

json_t *load_golden(void)
{
	const char *path = getenv("NPUEDGE_GOLDEN");
	json_error_t err;
	json_t *root;

	if (!path)
		path = "tests/data/smollm2-golden.json";
	root = json_load_file(path, 0, &err);
	if (!root)
		fail_msg("%s:%d: %s", path, err.line, err.text);
	return root;
}

npu_session *open_session(const npu_gguf *model, const char *device, uint32_t n_ctx, uint32_t chunk,
			  int n_threads)
{
	struct npu_session_options opt = {
		.struct_size = sizeof(opt),
		.device = device,
		.n_ctx = n_ctx,
		.prefill_chunk = chunk,
		.n_threads = n_threads,
		.strict = 1,
	};
	npu_session *s;

	ok(npu_session_open(model, &opt, &s));
	return s;
}

uint32_t *read_ids(const json_t *array, uint32_t *n)
{
	uint32_t *ids;

	*n = json_array_size(array);
	assert_true(*n > 0);
	ids = malloc(*n * sizeof(*ids));
	assert_non_null(ids);
	for (uint32_t i = 0; i < *n; i++)
		ids[i] = json_integer_value(json_array_get(array, i));
	return ids;
}

uint32_t argmax(const float *logits, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (logits[i] > logits[best])
			best = i;
	return best;
}
