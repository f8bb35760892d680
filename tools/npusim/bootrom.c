// SPDX-License-Identifier: MIT
/*
 * Checks in the order of ne1_fw_image.h.  The image is copied first and only the copy is looked at,
 * so that the host cannot change it between check and use.
 */
#include "bootrom.h"

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "dma.h"

_Static_assert(crypto_sign_PUBLICKEYBYTES == SIM_KEY_SIZE, "Ed25519");
_Static_assert(crypto_sign_BYTES == sizeof(((struct ne1_fw_header *)0)->signature), "Ed25519");
_Static_assert(crypto_hash_sha512_BYTES == sizeof(((struct ne1_fw_header *)0)->sha512), "SHA-512");

int sim_bootrom_init(void)
{
	return sodium_init() < 0 ? -1 : 0;
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
	return sodium_is_zero(bytes, n);
}

static bool in_tcm(uint32_t addr)
{
	return addr >= NE1_MC_TCM && addr - NE1_MC_TCM < NE1_MC_TCM_SIZE;
}

static unsigned int check_header(const struct ne1_fw_header *h)
{
	if (h->magic != NE1_FW_MAGIC)
		return NE1_BOOT_ERR_MAGIC;
	if (h->header_size != NE1_FW_HEADER_SIZE || h->flags || !in_tcm(h->load_addr) ||
	    h->load_addr % 4 || !in_tcm(h->entry) || h->entry % 2)
		return NE1_BOOT_ERR_HEADER;
	if (!all_zero(h->reserved0, sizeof(h->reserved0)) ||
	    !all_zero(h->reserved1, sizeof(h->reserved1)))
		return NE1_BOOT_ERR_HEADER;
	return NE1_BOOT_ERR_NONE;
}

static unsigned int check_sizes(const struct ne1_fw_header *h, uint32_t image_size)
{
	uint32_t room = NE1_MC_TCM_SIZE - (h->load_addr - NE1_MC_TCM);

	if (!h->payload_size || h->payload_size % 4 ||
	    h->payload_size > image_size - NE1_FW_HEADER_SIZE || h->payload_size > room ||
	    h->memory_size < h->payload_size || h->memory_size > room)
		return NE1_BOOT_ERR_SIZE;
	if (h->entry < h->load_addr || h->entry - h->load_addr >= h->payload_size)
		return NE1_BOOT_ERR_HEADER;
	return NE1_BOOT_ERR_NONE;
}

static unsigned int check_trust(const struct sim_image *image, const struct sim_fuses *fuses)
{
	const struct ne1_fw_header *h = &image->header;
	uint8_t hash[crypto_hash_sha512_BYTES];

	crypto_hash_sha512(hash, image->payload, h->payload_size);
	if (sodium_memcmp(hash, h->sha512, sizeof(hash)))
		return NE1_BOOT_ERR_HASH;
	crypto_hash_sha512(hash, fuses->key, sizeof(fuses->key));
	if (memcmp(hash, h->key_id, sizeof(h->key_id)) != 0)
		return NE1_BOOT_ERR_KEY;
	if (crypto_sign_verify_detached(h->signature, (const uint8_t *)h, NE1_FW_SIGNED_BYTES,
					fuses->key))
		return NE1_BOOT_ERR_SIGNATURE;
	if (h->security_version < fuses->min_security_version)
		return NE1_BOOT_ERR_ROLLBACK;
	return NE1_BOOT_ERR_NONE;
}

unsigned int sim_bootrom_load(struct sim_dma *dma, uint64_t bus, uint32_t size,
			      const struct sim_fuses *fuses, struct sim_image *image)
{
	unsigned int err;

	if (size < NE1_FW_HEADER_SIZE)
		return NE1_BOOT_ERR_SIZE;
	if (!sim_dma_read(dma, bus, &image->header, sizeof(image->header)))
		return NE1_BOOT_ERR_DMA;
	err = check_header(&image->header);
	if (!err)
		err = check_sizes(&image->header, size);
	if (err)
		return err;
	if (!sim_dma_read(dma, bus + NE1_FW_HEADER_SIZE, image->payload,
			  image->header.payload_size))
		return NE1_BOOT_ERR_DMA;
	return check_trust(image, fuses);
}

int sim_key_parse(const char *text, uint8_t key[SIM_KEY_SIZE])
{
	while (*text) {
		size_t line = strcspn(text, "\r\n"), len;

		if (line == 2 * SIM_KEY_SIZE &&
		    !sodium_hex2bin(key, SIM_KEY_SIZE, text, line, NULL, &len, NULL) &&
		    len == SIM_KEY_SIZE)
			return 0;
		text += line;
		text += strspn(text, "\r\n");
	}
	return -1;
}
