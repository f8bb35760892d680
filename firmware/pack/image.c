// SPDX-License-Identifier: MIT
#include "image.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "ne1_fwabi.h"
#include "ne1_regs.h"

#define TCM_END		((uint64_t)NE1_MC_TCM + NE1_MC_TCM_SIZE)

static int bad(const char *path, const char *what, uint64_t value, uint64_t limit)
{
	fprintf(stderr, "fwpack: %s: %s is 0x%" PRIx64 ", expected 0x%" PRIx64 "\n", path, what,
		value, limit);
	return -1;
}

static int check_elf(const char *path, const uint8_t *file, size_t size)
{
	const Elf32_Ehdr *eh = (const Elf32_Ehdr *)file;

	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0) {
		fprintf(stderr, "fwpack: %s: not an ELF file\n", path);
		return -1;
	}
	if (eh->e_ident[EI_CLASS] != ELFCLASS32 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return bad(path, "ELF class", eh->e_ident[EI_CLASS], ELFCLASS32);
	if (eh->e_machine != EM_RISCV)
		return bad(path, "ELF machine", eh->e_machine, EM_RISCV);
	if (eh->e_type != ET_EXEC)
		return bad(path, "ELF type", eh->e_type, ET_EXEC);
	if (eh->e_phentsize != sizeof(Elf32_Phdr) || eh->e_phoff % 4 ||
	    eh->e_phoff + (uint64_t)eh->e_phnum * sizeof(Elf32_Phdr) > size)
		return bad(path, "end of program headers",
			   eh->e_phoff + (uint64_t)eh->e_phnum * sizeof(Elf32_Phdr), size);
	return 0;
}

/* The one segment; NULL if there is none or a second. */
static const Elf32_Phdr *find_segment(const char *path, const uint8_t *file)
{
	const Elf32_Ehdr *eh = (const Elf32_Ehdr *)file;
	const Elf32_Phdr *ph = (const Elf32_Phdr *)(file + eh->e_phoff);
	const Elf32_Phdr *found = NULL;
	unsigned int count = 0;

	for (unsigned int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		found = &ph[i];
		count++;
	}
	if (count == 1)
		return found;
	bad(path, "number of PT_LOAD segments", count, 1);
	return NULL;
}

static int fill(struct image *img, const char *path, const uint8_t *file, size_t size)
{
	const Elf32_Ehdr *eh = (const Elf32_Ehdr *)file;
	const Elf32_Phdr *ph = find_segment(path, file);

	if (!ph)
		return -1;
	if ((uint64_t)ph->p_offset + ph->p_filesz > size)
		return bad(path, "end of segment", (uint64_t)ph->p_offset + ph->p_filesz, size);
	if (!ph->p_filesz || ph->p_filesz > NE1_MC_TCM_SIZE)
		return bad(path, "payload size (at most)", ph->p_filesz, NE1_MC_TCM_SIZE);
	img->header.magic = NE1_FW_MAGIC;
	img->header.header_size = NE1_FW_HEADER_SIZE;
	img->header.payload_size = (ph->p_filesz + 3) & ~3u;
	img->header.load_addr = ph->p_vaddr;
	img->header.entry = eh->e_entry;
	img->header.memory_size = (ph->p_memsz + 3) & ~3u;
	img->header.abi_major = NE1_ABI_MAJOR;
	img->header.abi_minor = NE1_ABI_MINOR;
	img->payload = calloc(1, img->header.payload_size);
	if (!img->payload) {
		fprintf(stderr, "fwpack: %s: no memory for %u bytes\n", path,
			img->header.payload_size);
		return -1;
	}
	memcpy(img->payload, file + ph->p_offset, ph->p_filesz);
	return 0;
}

int image_from_elf(struct image *img, const char *path)
{
	size_t size = 0;
	uint8_t *file = file_read(path, &size);
	int ret = -1;

	memset(img, 0, sizeof(*img));
	if (file && !check_elf(path, file, size))
		ret = fill(img, path, file, size);
	free(file);
	return ret;
}

int image_read(struct image *img, const char *path)
{
	size_t size = 0;
	uint8_t *file = file_read(path, &size);
	int ret = -1;

	memset(img, 0, sizeof(*img));
	if (!file)
		return -1;
	if (size < sizeof(img->header)) {
		bad(path, "file size (at least)", size, sizeof(img->header));
		goto out;
	}
	memcpy(&img->header, file, sizeof(img->header));
	if (img->header.payload_size > size - sizeof(img->header)) {
		bad(path, "payload size (at most)", img->header.payload_size,
		    size - sizeof(img->header));
		goto out;
	}
	img->payload = malloc(img->header.payload_size + 1);
	if (!img->payload) {
		fprintf(stderr, "fwpack: %s: no memory for %u bytes\n", path,
			img->header.payload_size);
		goto out;
	}
	memcpy(img->payload, file + sizeof(img->header), img->header.payload_size);
	ret = 0;
out:
	free(file);
	return ret;
}

int image_write(const struct image *img, const char *path)
{
	FILE *f = fopen(path, "wb");

	if (!f) {
		fprintf(stderr, "fwpack: %s: %s\n", path, strerror(errno));
		return -1;
	}
	fwrite(&img->header, sizeof(img->header), 1, f);
	fwrite(img->payload, img->header.payload_size, 1, f);
	if (ferror(f) | fclose(f)) {
		fprintf(stderr, "fwpack: %s: write failed: %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}

void image_free(struct image *img)
{
	free(img->payload);
	img->payload = NULL;
}

void image_key_id(uint8_t id[8], const uint8_t *pub)
{
	uint8_t hash[crypto_hash_sha512_BYTES];

	crypto_hash_sha512(hash, pub, KEY_SIZE);
	memcpy(id, hash, 8);
}

void image_sign(struct image *img, const uint8_t *seed)
{
	uint8_t pub[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];

	crypto_sign_seed_keypair(pub, secret, seed);
	crypto_hash_sha512(img->header.sha512, img->payload, img->header.payload_size);
	image_key_id(img->header.key_id, pub);
	crypto_sign_detached(img->header.signature, NULL, (const uint8_t *)&img->header,
			     NE1_FW_SIGNED_BYTES, secret);
	sodium_memzero(secret, sizeof(secret));
}

static int verify_sizes(const struct ne1_fw_header *h, const char *path)
{
	uint64_t load = h->load_addr;

	if (h->header_size != NE1_FW_HEADER_SIZE)
		return bad(path, "header size", h->header_size, NE1_FW_HEADER_SIZE);
	if (load < NE1_MC_TCM || load % 4 || load + h->memory_size > TCM_END)
		return bad(path, "end of memory (at most)", load + h->memory_size, TCM_END);
	if (!h->payload_size || h->payload_size % 4 || h->payload_size > h->memory_size)
		return bad(path, "payload size (at most)", h->payload_size, h->memory_size);
	if (h->entry < load || h->entry % 2 || h->entry >= load + h->payload_size)
		return bad(path, "entry", h->entry, load);
	if (h->flags)
		return bad(path, "flags", h->flags, 0);
	return 0;
}

int image_verify(const struct image *img, const char *path, const uint8_t *pub)
{
	const struct ne1_fw_header *h = &img->header;
	uint8_t hash[crypto_hash_sha512_BYTES], id[8];

	if (h->magic != NE1_FW_MAGIC)
		return bad(path, "magic", h->magic, NE1_FW_MAGIC);
	if (verify_sizes(h, path))
		return -1;
	if (!sodium_is_zero(h->reserved0, sizeof(h->reserved0)) ||
	    !sodium_is_zero(h->reserved1, sizeof(h->reserved1))) {
		fprintf(stderr, "fwpack: %s: reserved bytes of the header are not zero\n", path);
		return -1;
	}
	crypto_hash_sha512(hash, img->payload, h->payload_size);
	if (memcmp(hash, h->sha512, sizeof(hash)) != 0) {
		fprintf(stderr, "fwpack: %s: SHA-512 of the payload differs from the header's\n",
			path);
		return -1;
	}
	image_key_id(id, pub);
	if (memcmp(id, h->key_id, sizeof(id)) != 0) {
		fprintf(stderr, "fwpack: %s: signed with another key\n", path);
		return -1;
	}
	if (crypto_sign_verify_detached(h->signature, (const uint8_t *)h, NE1_FW_SIGNED_BYTES,
					pub)) {
		fprintf(stderr, "fwpack: %s: signature does not fit the header\n", path);
		return -1;
	}
	return 0;
}

static void print_hex(const char *name, const uint8_t *data, size_t size)
{
	printf("%-10s ", name);
	for (size_t i = 0; i < size; i++)
		printf("%02x", data[i]);
	putchar('\n');
}

void image_print(const struct image *img)
{
	const struct ne1_fw_header *h = &img->header;

	printf("version    %u.%u.%u (%.*s)\n", h->fw_version >> 24, h->fw_version >> 16 & 0xff,
	       h->fw_version & 0xffff, (int)sizeof(h->build), h->build);
	printf("abi        %u.%u\n", h->abi_major, h->abi_minor);
	printf("security   %u\n", h->security_version);
	printf("load       0x%08x, entry 0x%08x\n", h->load_addr, h->entry);
	printf("payload    %u bytes, %u with bss and stack, of %u\n", h->payload_size,
	       h->memory_size, NE1_MC_TCM_SIZE);
	print_hex("key id", h->key_id, sizeof(h->key_id));
	print_hex("sha512", h->sha512, sizeof(h->sha512));
}
