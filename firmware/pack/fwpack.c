// SPDX-License-Identifier: MIT
/*
 * fwpack: makes and checks signed firmware images of the NE1 (ne1_fw_image.h).
 *
 *   fwpack pack -k KEY [-b BUILD] ELF IMAGE
 *   fwpack verify [-p PUB] IMAGE
 *   fwpack info IMAGE
 *   fwpack pubkey KEY
 *
 * KEY is a file with the 32-byte Ed25519 seed in hex, PUB one with the public key; verify uses the
 * development key without -p.  Exit status: 0, 1 if a file is refused, 2 for wrong usage.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "image.h"
#include "version.h"

struct args {
	const char *key, *pub, *build;
	char **files;
	int count;
};

static int cmd_pack(const struct args *args)
{
	const char *elf = args->files[0], *out = args->files[1];
	uint8_t seed[KEY_SIZE];
	struct image img;
	int ret = -1;

	if (!args->key) {
		fprintf(stderr, "fwpack: pack needs -k KEY\n");
		return -1;
	}
	if (file_read_key(args->key, seed))
		return -1;
	if (image_from_elf(&img, elf))
		goto out;
	img.header.fw_version = FW_VERSION;
	img.header.security_version = FW_SECURITY_VERSION;
	if (args->build)
		memcpy(img.header.build, args->build,
		       strnlen(args->build, sizeof(img.header.build) - 1));
	image_sign(&img, seed);
	ret = image_write(&img, out);
out:
	image_free(&img);
	sodium_memzero(seed, sizeof(seed));
	return ret;
}

static int cmd_verify(const struct args *args)
{
	const char *path = args->files[0];
	uint8_t pub[KEY_SIZE];
	struct image img;
	int ret;

	if (args->pub) {
		if (file_read_key(args->pub, pub))
			return -1;
	} else if (sodium_hex2bin(pub, sizeof(pub), FWPACK_DEV_PUB, 2 * KEY_SIZE,
				  NULL, NULL, NULL)) {
		fprintf(stderr, "fwpack: built without a development key, use -p\n");
		return -1;
	}
	ret = image_read(&img, path);
	if (!ret)
		ret = image_verify(&img, path, pub);
	if (!ret)
		printf("%s: good\n", path);
	image_free(&img);
	return ret;
}

static int cmd_info(const struct args *args)
{
	struct image img;
	int ret = image_read(&img, args->files[0]);

	if (!ret && img.header.magic != NE1_FW_MAGIC) {
		fprintf(stderr, "fwpack: %s: magic is 0x%x, expected 0x%x\n", args->files[0],
			img.header.magic, NE1_FW_MAGIC);
		ret = -1;
	}
	if (!ret)
		image_print(&img);
	image_free(&img);
	return ret;
}

static int cmd_pubkey(const struct args *args)
{
	uint8_t seed[KEY_SIZE], pub[KEY_SIZE], secret[crypto_sign_SECRETKEYBYTES];
	char hex[2 * KEY_SIZE + 1];

	if (file_read_key(args->files[0], seed))
		return -1;
	crypto_sign_seed_keypair(pub, secret, seed);
	puts(sodium_bin2hex(hex, sizeof(hex), pub, sizeof(pub)));
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(secret, sizeof(secret));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const struct args *args);
	int files;
} commands[] = {
	{ "pack", cmd_pack, 2 },
	{ "verify", cmd_verify, 1 },
	{ "info", cmd_info, 1 },
	{ "pubkey", cmd_pubkey, 1 },
};

static int usage(void)
{
	fprintf(stderr, "usage: fwpack pack -k KEY [-b BUILD] ELF IMAGE\n"
			"       fwpack verify [-p PUB] IMAGE\n"
			"       fwpack info IMAGE\n"
			"       fwpack pubkey KEY\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct args args = { 0 };
	int opt;

	if (argc < 2)
		return usage();
	if (sodium_init() < 0) {
		fprintf(stderr, "fwpack: libsodium does not start\n");
		return 1;
	}
	optind = 2;
	while ((opt = getopt(argc, argv, "k:p:b:")) != -1) {
		if (opt == 'k')
			args.key = optarg;
		else if (opt == 'p')
			args.pub = optarg;
		else if (opt == 'b')
			args.build = optarg;
		else
			return usage();
	}
	args.files = argv + optind;
	args.count = argc - optind;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(argv[1], commands[i].name) && args.count == commands[i].files)
			return commands[i].run(&args) ? 1 : 0;
	}
	return usage();
}
