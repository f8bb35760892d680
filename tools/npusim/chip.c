// SPDX-License-Identifier: MIT
/* Parser of chip profiles: one table says key, place, limits; nothing is optional. */
#include "chip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ne1_cmd.h"
#include "ne1_regs.h"

#include "chip_profiles.h"	/* generated: static const struct builtin builtins[] from chips/ */

#define FILE_MAX_BYTES	65536

struct parser {
	const char *where;
	unsigned int line;
	struct sim_chip *chip;
	uint64_t seen;		/* bit per row of keys[] */
	char *err;
	size_t errlen;
};

__attribute__((format(printf, 2, 3)))
static int fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(p->err, p->errlen, "%s:%u: ", p->where, p->line);
	if (n >= 0 && (size_t)n < p->errlen) {
		va_start(ap, fmt);
		vsnprintf(p->err + n, p->errlen - n, fmt, ap);
		va_end(ap);
	}
	return -EINVAL;
}

struct key {
	const char *name;
	int (*parse)(struct parser *p, const struct key *key, char *value);
	size_t at;		/* offset of the (first) number */
	unsigned int count;
	int64_t min, max;
	uint32_t multiple;
};

/* Cuts the next word off @*s; NULL at the end. */
static char *next_word(char **s)
{
	char *w = *s + strspn(*s, " \t");

	if (!*w)
		return NULL;
	*s = w + strcspn(w, " \t");
	if (**s)
		*(*s)++ = '\0';
	return w;
}

static int parse_number(struct parser *p, const struct key *key, const char *word, int64_t *out)
{
	char *end;
	long long v;

	if (!word)
		return fail(p, "%s: %u number(s) expected", key->name, key->count);
	errno = 0;
	v = strtoll(word, &end, 10);
	if (errno || end == word || *end)
		return fail(p, "%s: '%s' is not a number", key->name, word);
	if (v < key->min || v > key->max)
		return fail(p, "%s: %lld is outside %lld..%lld", key->name, v, (long long)key->min,
			    (long long)key->max);
	if (key->multiple && v % key->multiple)
		return fail(p, "%s: %lld is not a multiple of %u", key->name, v, key->multiple);
	*out = v;
	return 0;
}

static int parse_numbers(struct parser *p, const struct key *key, char *value)
{
	uint32_t *at = (uint32_t *)((char *)p->chip + key->at);
	unsigned int i;
	int64_t v = 0;
	int ret;

	for (i = 0; i < key->count; i++) {
		ret = parse_number(p, key, next_word(&value), &v);
		if (ret)
			return ret;
		at[i] = (uint32_t)v;
	}
	if (next_word(&value))
		return fail(p, "%s: more than %u number(s)", key->name, key->count);
	return 0;
}

static int parse_name(struct parser *p, const struct key *key, char *value)
{
	size_t len = strlen(value);

	if (!len || len >= SIM_CHIP_NAME_SIZE)
		return fail(p, "%s: '%s' has not 1..%d characters", key->name, value,
			    SIM_CHIP_NAME_SIZE - 1);
	memcpy(p->chip->name, value, len + 1);
	return 0;
}

static int parse_formats(struct parser *p, const struct key *key, char *value)
{
	static const char *const names[] = {
		[NE1_T_F32] = "f32", [NE1_T_F16] = "f16", [NE1_T_I8] = "i8", [NE1_T_U4M] = "u4m",
	};
	const uint32_t plain = 1u << NE1_T_F32 | 1u << NE1_T_F16;
	unsigned int i;
	char *word;

	while ((word = next_word(&value))) {
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(word, names[i]))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			return fail(p, "%s: unknown format '%s'", key->name, word);
		p->chip->formats |= 1u << i;
	}
	if ((p->chip->formats & plain) != plain)
		return fail(p, "%s: f32 and f16 are required", key->name);
	return 0;
}

static int parse_opp(struct parser *p, const struct key *key, char *value)
{
	static const struct key khz = {
		.name = "opp: kHz", .count = 1, .min = 1000, .max = 4000000
	};
	static const struct key mv = { .name = "opp: mV", .count = 1, .min = 300, .max = 1500 };
	struct sim_chip *chip = p->chip;
	int64_t f = 0, u = 0;
	int ret;

	(void)key;
	if (chip->n_opps == SIM_CHIP_OPPS_MAX)
		return fail(p, "opp: more than %d operating points", SIM_CHIP_OPPS_MAX);
	ret = parse_number(p, &khz, next_word(&value), &f);
	if (!ret)
		ret = parse_number(p, &mv, next_word(&value), &u);
	if (ret)
		return ret;
	if (next_word(&value))
		return fail(p, "opp: more than two numbers");
	if (chip->n_opps && (f <= sim_chip_top_opp(chip)->khz || u < sim_chip_top_opp(chip)->mv))
		return fail(p, "opp: %lld kHz at %lld mV does not ascend", (long long)f,
			    (long long)u);
	chip->opp[chip->n_opps++] = (struct sim_opp){ .khz = (uint32_t)f, .mv = (uint32_t)u };
	return 0;
}

#define AT(field)	offsetof(struct sim_chip, field)
#define U32(name_, field, min_, max_, mult) \
	{ .name = name_, \
	  .parse = parse_numbers, \
	  .at = AT(field), \
	  .count = 1, \
	  .min = min_, \
	  .max = max_, \
	  .multiple = mult }

static const struct key keys[] = {
	{ .name = "name", .parse = parse_name },
	{ .name = "formats", .parse = parse_formats },
	{ .name = "opp", .parse = parse_opp },
	U32("cores", cores, 1, NE1_MAX_CORES, 0),
	U32("sram_bytes", sram_bytes, 65536, 16 << 20, 4096),
	U32("macs_fp16", macs_fp16, 32, 65536, 32),
	U32("vx_lanes", vx_lanes, 1, 1024, 0),
	U32("queues", queues, 1, NE1_MAX_QUEUES, 0),
	U32("asids", asids, 2, NE1_MAX_ASIDS, 0),
	U32("sram_b_bytes", sram_b_bytes, 4, 4096, 4),
	U32("fe_cycles", fe_cycles, 1, 10000, 0),
	U32("dma_cycles", dma_cycles, 0, 10000, 0),
	U32("mx_fill_cycles", mx_fill_cycles, 0, 10000, 0),
	U32("vx_fill_cycles", vx_fill_cycles, 0, 10000, 0),
	U32("dram_peak_mbps", dram.peak_mbps, 100, 2000000, 0),
	U32("dram_stream_permille", dram.stream_permille, 100, 1000, 0),
	U32("dram_mixed_permille", dram.mixed_permille, 100, 1000, 0),
	U32("dram_burst_bytes", dram.burst_bytes, 16, 512, 16),
	U32("dram_row_ps", dram.row_ps, 0, 1000000, 0),
	U32("dram_read_ns", dram.read_ns, 0, 100000, 0),
	U32("dram_write_ns", dram.write_ns, 0, 100000, 0),
	U32("dram_fj_byte", energy.dram_fj_byte, 0, 10000000, 0),
	U32("sram_fj_byte", energy.sram_fj_byte, 0, 1000000, 0),
	U32("mac_fj", energy.mac_fj, 0, 1000000, 0),
	U32("vx_fj", energy.vx_fj, 0, 1000000, 0),
	U32("idle_uw", energy.idle_uw, 0, 100000000, 0),
	U32("leak_uw", energy.leak_uw, 0, 100000000, 0),
	U32("leak_double_mc", energy.leak_double_mc, 5000, 200000, 0),
	U32("ambient_mc", thermal.ambient_mc, -40000, 100000, 0),
	{ .name = "r_mk_w",
	  .parse = parse_numbers,
	  .at = AT(thermal.r_mk_w),
	  .count = SIM_CHIP_NODES,
	  .min = 1,
	  .max = 1000000 },
	{ .name = "c_mj_k",
	  .parse = parse_numbers,
	  .at = AT(thermal.c_mj_k),
	  .count = SIM_CHIP_NODES,
	  .min = 1,
	  .max = 100000000 },
	U32("trip_passive_mc", thermal.trip_passive_mc, 0, 150000, 0),
	U32("trip_hot_mc", thermal.trip_hot_mc, 0, 150000, 0),
	U32("trip_critical_mc", thermal.trip_critical_mc, 0, 150000, 0),
};

#define N_KEYS	(sizeof(keys) / sizeof(keys[0]))
_Static_assert(N_KEYS <= 64, "a bit per key");

static int parse_line(struct parser *p, char *line)
{
	char *value, *name = line + strspn(line, " \t");
	char *end;
	size_t i;

	value = strchr(line, '#');
	if (value)
		*value = '\0';
	for (end = line + strlen(line); end > name && strchr(" \t\r", end[-1]); end--)
		end[-1] = '\0';
	if (!*name)
		return 0;
	value = strchr(name, '=');
	if (!value)
		return fail(p, "'%s' is not 'key = value'", name);
	end = value++;
	while (end > name && strchr(" \t", end[-1]))
		end--;
	*end = '\0';
	value += strspn(value, " \t");
	for (i = 0; i < N_KEYS; i++)
		if (!strcmp(name, keys[i].name))
			break;
	if (i == N_KEYS)
		return fail(p, "unknown key '%s'", name);
	if (p->seen & 1ull << i && keys[i].parse != parse_opp)
		return fail(p, "%s is given twice", name);
	p->seen |= 1ull << i;
	return keys[i].parse(p, &keys[i], value);
}

static int check_whole(struct parser *p)
{
	const struct sim_chip_thermal *t = &p->chip->thermal;
	const struct sim_chip_dram *d = &p->chip->dram;
	size_t i;

	for (i = 0; i < N_KEYS; i++)
		if (!(p->seen & 1ull << i))
			return fail(p, "%s is missing", keys[i].name);
	if (t->trip_passive_mc >= t->trip_hot_mc || t->trip_hot_mc >= t->trip_critical_mc)
		return fail(p, "trips do not ascend: %d, %d, %d", t->trip_passive_mc,
			    t->trip_hot_mc, t->trip_critical_mc);
	if (d->mixed_permille > d->stream_permille)
		return fail(p, "dram_mixed_permille: %u is above dram_stream_permille %u",
			    d->mixed_permille, d->stream_permille);
	return 0;
}

int sim_chip_parse(const char *where, const char *text, size_t len, struct sim_chip *out, char *err,
		   size_t errlen)
{
	struct parser p = { .where = where, .chip = out, .err = err, .errlen = errlen };
	const char *end = text + len, *eol;
	char line[256];
	int ret;

	err[0] = '\0';
	memset(out, 0, sizeof(*out));
	for (; text < end; text = eol + 1) {
		p.line++;
		eol = memchr(text, '\n', end - text);
		if (!eol)
			eol = end;
		if ((size_t)(eol - text) >= sizeof(line))
			return fail(&p, "line longer than %zu bytes", sizeof(line) - 1);
		if (memchr(text, '\0', eol - text))
			return fail(&p, "NUL byte");
		memcpy(line, text, eol - text);
		line[eol - text] = '\0';
		ret = parse_line(&p, line);
		if (ret)
			return ret;
	}
	return check_whole(&p);
}

static int load_file(const char *path, struct sim_chip *out, char *err, size_t errlen)
{
	char *text = malloc(FILE_MAX_BYTES);
	size_t len = 0;
	ssize_t n = -1;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !text) {
		ret = -errno;
		goto out;
	}
	while (len < FILE_MAX_BYTES && (n = read(fd, text + len, FILE_MAX_BYTES - len)) > 0)
		len += n;
	ret = n < 0 ? -errno : 0;
	if (!ret && len == FILE_MAX_BYTES)
		ret = -EFBIG;
out:
	if (fd >= 0)
		close(fd);
	if (ret)
		snprintf(err, errlen, "%s: %s", path, strerror(-ret));
	else
		ret = sim_chip_parse(path, text, len, out, err, errlen);
	free(text);
	return ret;
}

int sim_chip_load(const char *name_or_path, struct sim_chip *out, char *err, size_t errlen)
{
	size_t i;

	if (strchr(name_or_path, '/'))
		return load_file(name_or_path, out, err, errlen);
	for (i = 0; builtins[i].name; i++)
		if (!strcmp(name_or_path, builtins[i].name))
			return sim_chip_parse(builtins[i].name, builtins[i].text,
					      strlen(builtins[i].text), out, err, errlen);
	snprintf(err, errlen, "%s: no built-in chip profile of this name (a file needs a '/')",
		 name_or_path);
	return -ENOENT;
}

const char *sim_chip_builtin(unsigned int i)
{
	return i < sizeof(builtins) / sizeof(builtins[0]) ? builtins[i].name : NULL;
}
