// SPDX-License-Identifier: MIT
#include "path.h"

#include <stdio.h>
#include <stdlib.h>

#define MODEL_FILE "models/SmolLM2-135M-Instruct.Q4_1.gguf"

const char *model_path(char *buf, size_t n)
{
	const char *path = getenv("NPUEDGE_MODEL"), *cache = getenv("NPUEDGE_CACHE");
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (path)
		return path;
	if (cache)
		snprintf(buf, n, "%s/" MODEL_FILE, cache);
	else if (xdg)
		snprintf(buf, n, "%s/npuedge/" MODEL_FILE, xdg);
	else
		snprintf(buf, n, "%s/.cache/npuedge/" MODEL_FILE, home ? home : "");
	return buf;
}
