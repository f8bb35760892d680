/* SPDX-License-Identifier: MIT */
/* Where the tests' real model is. */
#ifndef TESTS_MODEL_PATH_H
#define TESTS_MODEL_PATH_H

#include <stddef.h>

/* $NPUEDGE_MODEL, or SmolLM2-135M-Instruct.Q4_1.gguf in the cache; @buf holds it if need be. */
const char *model_path(char *buf, size_t n);

#endif
