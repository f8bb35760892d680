/* SPDX-License-Identifier: MIT */
/* Firmware images: building one from an ELF file, and checking one as the boot ROM does. */
#ifndef FWPACK_IMAGE_H
#define FWPACK_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "ne1_fw_image.h"

struct image {
	struct ne1_fw_header header;
	uint8_t *payload;	/* header.payload_size bytes, owned */
};

/*
 * All functions that can fail return 0 or -1 after a line on standard error that names the file,
 * the value and the limit.
 */

/* Takes the single PT_LOAD of an RV32 executable; sets all but hash, key and signature. */
int image_from_elf(struct image *img, const char *path);
int image_read(struct image *img, const char *path);
int image_write(const struct image *img, const char *path);
void image_free(struct image *img);

/* @seed: 32 bytes. */
void image_sign(struct image *img, const uint8_t *seed);

/* The ROM's checks in the ROM's order, against the public key @pub. */
int image_verify(const struct image *img, const char *path, const uint8_t *pub);

void image_print(const struct image *img);

/* First bytes of SHA-512 of the public key. */
void image_key_id(uint8_t id[8], const uint8_t *pub);

#endif
