/* SPDX-License-Identifier: MIT */
#include "log.h"

#include <stdarg.h>
#include <stddef.h>

#include "hal.h"
#include "iface.h"

struct line {
	char text[LOG_LINE_MAX];
	unsigned int len;
};

static enum ne1_log_level max_level;
static uint32_t written;	/* bytes ever written */

void log_init(enum ne1_log_level level)
{
	max_level = level;
	written = hal_win_read(iface_get()->log_ctl + offsetof(struct ne1_ring_ctl, write));
}

void log_set_level(enum ne1_log_level level)
{
	max_level = level;
}

/* The last byte is kept for the newline. */
static void put_char(struct line *line, char c)
{
	if (line->len < LOG_LINE_MAX - 1)
		line->text[line->len++] = c;
}

static void put_string(struct line *line, const char *s)
{
	while (*s)
		put_char(line, *s++);
}

/* At least @width digits, zero padded. */
static void put_number(struct line *line, uint64_t value, unsigned int base, unsigned int width)
{
	char digits[20];
	unsigned int n = 0;

	while (value || n < width || !n) {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	}
	while (n)
		put_char(line, digits[--n]);
}

static void format(struct line *line, const char *fmt, va_list args)
{
	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put_char(line, *fmt);
			continue;
		}
		switch (*++fmt) {
		case 'u':
			put_number(line, va_arg(args, unsigned int), 10, 1);
			break;
		case 'x':
			put_number(line, va_arg(args, unsigned int), 16, 1);
			break;
		case 'l':	/* %llx */
			fmt += 2;
			put_number(line, va_arg(args, unsigned long long), 16, 1);
			break;
		case 's':
			put_string(line, va_arg(args, const char *));
			break;
		default:
			put_char(line, '%');
			break;
		}
	}
}

static void emit(const struct line *line)
{
	const struct ne1_fw_if *fwif = iface_get();

	for (unsigned int i = 0; i < line->len; i++)
		hal_win_write8(fwif->log_ring + (written++ & (fwif->log_size - 1)),
			       (uint8_t)line->text[i]);
	hal_wmb();
	hal_win_write(fwif->log_ctl + offsetof(struct ne1_ring_ctl, write), written);
}

void log_printf(enum ne1_log_level level, const char *fmt, ...)
{
	struct line line;
	uint64_t us;
	va_list args;

	if (level > max_level)
		return;
	line.len = 0;
	us = hal_read64(NE1_MC_TIME_LO) / 1000;
	put_number(&line, us / 1000000, 10, 1);
	put_char(&line, '.');
	put_number(&line, us % 1000000, 10, 6);
	put_char(&line, ' ');
	put_char(&line, "EWID"[level]);
	put_char(&line, ' ');
	va_start(args, fmt);
	format(&line, fmt, args);
	va_end(args);
	line.text[line.len++] = '\n';
	emit(&line);
}
