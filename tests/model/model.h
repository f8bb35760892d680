/* SPDX-License-Identifier: MIT */
/* What tests on the real model share: where it is, and the golden data. */
#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <jansson.h>
#include <stdint.h>

#include "npu/session.h"

/* At model_path(); fails the test if it is not there. */
npu_gguf *open_model(void);

/* $NPUEDGE_GOLDEN, or tests/data/smollm2-golden.json. */
json_t *load_golden(void);

/* Fails the test with the library's message. */
void ok_(npu_status status, const char *what, int line);
#define ok(call) ok_(call, #call, __LINE__)

npu_session *open_session(const npu_gguf *model, const char *device, uint32_t n_ctx, uint32_t chunk,
			  int n_threads);

/* Token ids of a JSON array; *n receives their number. */
uint32_t *read_ids(const json_t *array, uint32_t *n);

uint32_t argmax(const float *logits, uint32_t n);

#endif
