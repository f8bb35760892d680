// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "input.h"

#define MAX_BYTES (64u << 20)

static int read_stream(FILE *f, const char *name, char **text, size_t *len)
{
	size_t cap = 0, n = 0;
	char *buf = NULL, *more;

	do {
		if (cap - n < 4096) {
			cap = cap ? 2 * cap : 65536;
			more = realloc(buf, cap + 1);
			if (!more) {
				free(buf);
				return fail(EXIT_OTHER, "%s: no memory", name);
			}
			buf = more;
		}
		n += fread(buf + n, 1, cap - n, f);
		/* Not until nothing comes: a terminal would be asked again after its end. */
	} while (!feof(f) && !ferror(f) && n <= MAX_BYTES);
	if (ferror(f) || n > MAX_BYTES) {
		free(buf);
		return n > MAX_BYTES ? fail(EXIT_OTHER, "%s: more than %u bytes", name, MAX_BYTES) :
				       fail(EXIT_FILE, "%s: %s", name, strerror(errno));
	}
	buf[n] = 0;
	*text = buf;
	*len = n;
	return EXIT_OK;
}

int read_text(const char *path, char **text, size_t *len)
{
	FILE *f;
	int status;

	*text = NULL;
	*len = 0;
	if (!strcmp(path, "-"))
		return read_stream(stdin, "standard input", text, len);
	f = fopen(path, "re");
	if (!f)
		return fail(EXIT_FILE, "%s: %s", path, strerror(errno));
	status = read_stream(f, path, text, len);
	fclose(f);
	return status;
}

static int not_an_id(const char *path, const char *p, size_t n)
{
	return fail(EXIT_USAGE, "%s: '%.16s' after %zu ids is not a token id", path, p, n);
}

static int parse_ids(const char *path, const char *text, size_t len, uint32_t n_vocab,
		     struct ids *out)
{
	const char *p = text, *end = text + len;
	unsigned long long value;
	char *after;

	while (p < end) {
		if (isspace((unsigned char)*p) || *p == ',') {
			p++;
			continue;
		}
		if (!isdigit((unsigned char)*p))
			return not_an_id(path, p, out->n);
		errno = 0;
		value = strtoull(p, &after, 10);
		if (*after && !isspace((unsigned char)*after) && *after != ',')
			return not_an_id(path, p, out->n);
		if (errno || value >= n_vocab)
			return fail(EXIT_USAGE, "%s: id %llu after %zu ids, the vocabulary has %u",
				    path, value, out->n, n_vocab);
		out->id[out->n++] = (uint32_t)value;
		p = after;
	}
	return EXIT_OK;
}

int read_ids(const char *path, uint32_t n_vocab, struct ids *out)
{
	size_t len;
	char *text;
	int status;

	*out = (struct ids){ 0 };
	status = read_text(path, &text, &len);
	if (status)
		return status;
	out->id = malloc((len / 2 + 1) * sizeof(*out->id));	/* a digit and a separator each */
	if (out->id)
		status = parse_ids(path, text, len, n_vocab, out);
	else
		status = fail(EXIT_OTHER, "%s: no memory", path);
	free(text);
	if (status) {
		free(out->id);
		*out = (struct ids){ 0 };
	}
	return status;
}
