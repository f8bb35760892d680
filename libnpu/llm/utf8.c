// SPDX-License-Identifier: MIT
#include "llm/utf8.h"

int utf8_next(const char *s, size_t len, uint32_t *cp)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned char low = 0x80, high = 0xbf;	/* range of the second byte */
	uint32_t value;
	int need;

	if (u[0] < 0x80) {
		if (cp)
			*cp = u[0];
		return 1;
	}
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return -1;
	if (u[0] < 0xe0) {
		need = 2;
		value = u[0] & 0x1f;
	} else if (u[0] < 0xf0) {
		need = 3;
		value = u[0] & 0x0f;
		low = u[0] == 0xe0 ? 0xa0 : low;
		high = u[0] == 0xed ? 0x9f : high;
	} else {
		need = 4;
		value = u[0] & 0x07;
		low = u[0] == 0xf0 ? 0x90 : low;
		high = u[0] == 0xf4 ? 0x8f : high;
	}
	for (int i = 1; i < need; i++) {
		if ((size_t)i == len)
			return 0;
		if (u[i] < low || u[i] > high)
			return -i;
		value = value << 6 | (u[i] & 0x3f);
		low = 0x80;
		high = 0xbf;
	}
	if (cp)
		*cp = value;
	return need;
}
