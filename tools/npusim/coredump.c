// SPDX-License-Identifier: MIT
#include "coredump.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ne1_regs.h"

#define PAGE		4096u
#define WORD_MAX	64	/* characters of a key or number */

struct reader {
	const char *at, *end;
	unsigned int line;
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 2, 3)))
static int wrong(struct reader *r, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(r->err, r->err_size, "line %u: %s", r->line, text);
	return -1;
}

/* ---- Lines and numbers ---- */

/* The next line without its end; false at the end of the text. */
static bool next_line(struct reader *r, const char **line, size_t *len)
{
	const char *end;

	if (r->at == r->end)
		return false;
	end = memchr(r->at, '\n', (size_t)(r->end - r->at));
	*line = r->at;
	*len = (size_t)((end ? end : r->end) - r->at);
	r->at = end ? end + 1 : r->end;
	r->line++;
	return true;
}

static bool number(const char *text, size_t len, uint64_t *out)
{
	char word[WORD_MAX], *end;

	if (!len || len >= sizeof(word) || text[0] < '0' || text[0] > '9')
		return false;
	memcpy(word, text, len);
	word[len] = 0;
	errno = 0;
	*out = strtoull(word, &end, 0);
	return !errno && !*end;
}

/* The next word of [*at, end), blanks before it skipped. */
static size_t word(const char **at, const char *end)
{
	const char *start;

	while (*at < end && **at == ' ')
		(*at)++;
	start = *at;
	while (start < end && *start != ' ')
		start++;
	return (size_t)(start - *at);
}

/* ---- Head ---- */

static void copy_text(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = 0;
}

/* Keys that nobody here needs are passed over: later versions may have more. */
static int take_key(struct reader *r, struct sim_dump *dump, const char *key, size_t key_len,
		    const char *value, size_t len)
{
	const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = {
		{ "queue", &dump->queue }, { "vm", &dump->vm }, { "seqno", &dump->seqno },
		{ "fault", &dump->fault }, { "cmd", &dump->cmd }, { "va", &dump->va },
		{ "info", &dump->info }, { "time_ns", &dump->time_ns },
	};

	if (key_len == 4 && !memcmp(key, "chip", 4))
		copy_text(dump->chip, sizeof(dump->chip), value, len);
	if (key_len == 6 && !memcmp(key, "reason", 6))
		copy_text(dump->reason, sizeof(dump->reason), value, len);
	for (unsigned int i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strlen(numbers[i].name) != key_len ||
		    memcmp(numbers[i].name, key, key_len) != 0)
			continue;
		if (!number(value, len, numbers[i].to))
			return wrong(r, "%s: '%.*s' is no number", numbers[i].name, (int)(len & 63),
				     value);
		dump->has_job |= numbers[i].to == &dump->seqno;
	}
	return 0;
}

static int parse_head(struct reader *r, struct sim_dump *dump)
{
	static const char first[] = "npuedge-coredump 1";
	const char *line, *colon;
	size_t len;

	if (!next_line(r, &line, &len) || len != strlen(first) || memcmp(line, first, len) != 0)
		return wrong(r, "the file does not begin with '%s'", first);
	while (r->at < r->end && *r->at != '[') {
		next_line(r, &line, &len);
		colon = memchr(line, ':', len);
		if (!colon || line + len - colon < 2 || colon[1] != ' ')
			return wrong(r, "neither 'key: value' nor a section");
		if (take_key(r, dump, line, (size_t)(colon - line), colon + 2,
			     (size_t)(line + len - colon) - 2))
			return -1;
	}
	return 0;
}

/* ---- Sections ---- */

/* "[name bytes=N va=0x...]"; other attributes are passed over. */
static int parse_title(struct reader *r, const char *line, size_t len,
		       struct sim_dump_section *s, uint64_t *bytes)
{
	const char *at = line + 1, *end = line + len - 1;
	bool has_bytes = false;
	size_t n;

	if (len < 3 || line[0] != '[' || *end != ']')
		return wrong(r, "no section begins here");
	n = word(&at, end);
	if (!n || n >= sizeof(s->name))
		return wrong(r, "name of a section of %zu characters (1 to %zu)", n,
			     sizeof(s->name) - 1);
	copy_text(s->name, sizeof(s->name), at, n);
	for (at += n; (n = word(&at, end)); at += n) {
		if (n > 6 && !memcmp(at, "bytes=", 6)) {
			has_bytes = number(at + 6, n - 6, bytes);
			if (!has_bytes)
				return wrong(r, "%s: bytes is no number", s->name);
		}
		if (n > 3 && !memcmp(at, "va=", 3) && !number(at + 3, n - 3, &s->va))
			return wrong(r, "%s: va is no number", s->name);
	}
	return has_bytes ? 0 : wrong(r, "%s: no bytes=", s->name);
}

static bool is_text(const char *name)
{
	return !strcmp(name, "regs") || !strcmp(name, "fw_log") || !strcmp(name, "walk") ||
	       !strcmp(name, "vm");
}

static int read_text(struct reader *r, struct sim_dump_section *s)
{
	if (s->size > (size_t)(r->end - r->at))
		return wrong(r, "%s: %zu bytes, but only %zu are left", s->name, s->size,
			     (size_t)(r->end - r->at));
	memcpy(s->data, r->at, s->size);
	for (size_t i = 0; i < s->size; i++)
		r->line += r->at[i] == '\n';
	r->at += s->size;
	/* An end of line is added to text that has none. */
	if (s->size && s->data[s->size - 1] != '\n' && r->at < r->end && *r->at == '\n') {
		r->at++;
		r->line++;
	}
	return 0;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int read_hex(struct reader *r, struct sim_dump_section *s)
{
	const char *line;
	size_t done = 0, len;

	while (done < s->size) {
		if (!next_line(r, &line, &len))
			return wrong(r, "%s: ends after %zu of %zu bytes", s->name, done, s->size);
		if (!len || len % 2 || len / 2 > s->size - done)
			return wrong(r, "%s: a line of %zu digits", s->name, len);
		for (size_t i = 0; i < len; i += 2) {
			int high = digit(line[i]), low = digit(line[i + 1]);

			if (high < 0 || low < 0)
				return wrong(r, "%s: no hexadecimal digits", s->name);
			s->data[done++] = (uint8_t)(high << 4 | low);
		}
	}
	return 0;
}

static int parse_section(struct reader *r, struct sim_dump *dump)
{
	struct sim_dump_section *s = &dump->section[dump->n_sections];
	uint64_t bytes = 0;
	const char *line;
	size_t len;

	if (dump->n_sections == SIM_DUMP_SECTIONS)
		return wrong(r, "more than %u sections", SIM_DUMP_SECTIONS);
	if (!next_line(r, &line, &len) || parse_title(r, line, len, s, &bytes))
		return -1;
	/* A byte takes at least one character: what cannot be there is not allocated either. */
	if (bytes > (uint64_t)(r->end - r->at))
		return wrong(r, "%s: %llu bytes, but the file ends before", s->name,
			     (unsigned long long)bytes);
	s->size = (size_t)bytes;
	s->data = malloc(s->size + 1);
	if (!s->data)
		return wrong(r, "%s: no memory for %zu bytes", s->name, s->size);
	dump->n_sections++;
	return is_text(s->name) ? read_text(r, s) : read_hex(r, s);
}

/* ---- Mappings ---- */

static int by_va(const void *a, const void *b)
{
	const struct sim_dump_range *x = a, *y = b;

	return (x->va > y->va) - (x->va < y->va);
}

static int parse_range(struct reader *r, struct sim_dump *dump, const char *at, const char *end)
{
	struct sim_dump_range *range = &dump->range[dump->n_ranges];
	uint64_t field[3];

	if (dump->n_ranges == SIM_DUMP_RANGES)
		return wrong(r, "more than %u mappings", SIM_DUMP_RANGES);
	for (unsigned int i = 0; i < 3; i++) {
		size_t n = word(&at, end);

		if (!number(at, n, &field[i]))
			return wrong(r, "vm: want 'va size readonly label'");
		at += n;
	}
	if (!field[1] || field[0] % PAGE || field[1] % PAGE || field[0] >> NE1_VA_BITS ||
	    field[1] > (1ull << NE1_VA_BITS) - field[0])
		return wrong(r, "vm: 0x%llx bytes at 0x%llx are not pages of the address space",
			     (unsigned long long)field[1], (unsigned long long)field[0]);
	*range = (struct sim_dump_range){ field[0], field[1], field[2] };
	dump->n_ranges++;
	return 0;
}

static int parse_ranges(struct reader *r, struct sim_dump *dump)
{
	const struct sim_dump_section *vm = sim_dump_find(dump, "vm");
	struct reader lines = *r;
	const char *line;
	size_t len;

	if (!vm)
		return 0;
	lines.at = (const char *)vm->data;
	lines.end = lines.at + vm->size;
	lines.line = 0;
	while (next_line(&lines, &line, &len))
		if (len && parse_range(&lines, dump, line, line + len))
			return -1;
	qsort(dump->range, dump->n_ranges, sizeof(dump->range[0]), by_va);
	for (unsigned int i = 1; i < dump->n_ranges; i++)
		if (dump->range[i].va - dump->range[i - 1].va < dump->range[i - 1].size)
			return wrong(&lines, "vm: mappings overlap at 0x%llx",
				     (unsigned long long)dump->range[i].va);
	return 0;
}

/* ---- All ---- */

int sim_dump_parse(struct sim_dump *dump, const char *text, size_t len, char *err, size_t err_size)
{
	struct reader r = { .at = text, .end = text + len, .err = err, .err_size = err_size };

	memset(dump, 0, sizeof(*dump));
	if (len > SIM_DUMP_TEXT_MAX)
		return wrong(&r, "%zu bytes, limit %u", len, SIM_DUMP_TEXT_MAX);
	if (parse_head(&r, dump))
		return -1;
	while (r.at < r.end)
		if (parse_section(&r, dump))
			return -1;
	return parse_ranges(&r, dump);
}

void sim_dump_clear(struct sim_dump *dump)
{
	for (unsigned int i = 0; i < dump->n_sections; i++)
		free(dump->section[i].data);
	dump->n_sections = 0;
}

const struct sim_dump_section *sim_dump_find(const struct sim_dump *dump, const char *name)
{
	for (unsigned int i = 0; i < dump->n_sections; i++)
		if (!strcmp(dump->section[i].name, name))
			return &dump->section[i];
	return NULL;
}
