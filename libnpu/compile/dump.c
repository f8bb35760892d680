// SPDX-License-Identifier: MIT
/* Lists of stages that print, as in NPU_DUMP. */
#include <string.h>

#include "compile/program.h"
#include "error.h"

static const char *const stages[] = { "graph", "partition", "plan", "stream", "all" };

static bool equal(const char *word, size_t len, const char *stage)
{
	return strlen(stage) == len && !memcmp(word, stage, len);
}

/* The word at *@list and its length; *@list moves behind it.  False at the end. */
static bool next_word(const char **list, const char **word, size_t *len)
{
	if (!*list || !**list)
		return false;
	*word = *list;
	*len = strcspn(*word, ",");
	*list = *word + *len + ((*word)[*len] == ',');
	return true;
}

bool npu_dump_wanted(const char *list, const char *stage)
{
	const char *word;
	size_t len;

	while (next_word(&list, &word, &len))
		if (equal(word, len, stage) || equal(word, len, "all"))
			return true;
	return false;
}

void npu_dump_check(const char *list)
{
	const char *word;
	size_t len, i, n = sizeof(stages) / sizeof(stages[0]);

	while (next_word(&list, &word, &len)) {
		for (i = 0; i < n && !equal(word, len, stages[i]); i++)
			;
		if (i == n && len)
			npu_log(NPU_LOG_WARN, "dump: no stage '%.*s'; graph, partition, plan, "
				"stream and all are", len > 64 ? 64 : (int)len, word);
	}
}
