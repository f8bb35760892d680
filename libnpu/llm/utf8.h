/* SPDX-License-Identifier: MIT */
#ifndef LIBNPU_LLM_UTF8_H
#define LIBNPU_LLM_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Look at the sequence that starts at @s (@len bytes, at least 1).
 *  > 0  its length in bytes; *@cp (may be NULL) is the code point
 *    0  @s is a proper prefix of a well-formed sequence: more bytes are needed
 *  < 0  malformed; the number of bytes to give up, negated (Unicode's "maximal subpart")
 * Well-formed as in Unicode table 3-7: no overlong forms, no surrogates, at most U+10FFFF.
 */
int utf8_next(const char *s, size_t len, uint32_t *cp);

#endif
