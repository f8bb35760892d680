/* SPDX-License-Identifier: MIT */
/*
 * Firmware image: this header (512 bytes), then the payload.  The boot ROM checks, in this order:
 * magic, header, sizes, SHA-512 of the payload, key id, Ed25519 signature over the header's first
 * NE1_FW_SIGNED_BYTES bytes, security version; then copies the payload to load_addr and jumps to
 * entry.  The driver checks magic, sizes and ABI before it hands the image over.
 */
#ifndef NE1_FW_IMAGE_H
#define NE1_FW_IMAGE_H

#include "ne1_types.h"

#define NE1_FW_MAGIC		0x4631454e	/* "NE1F" */
#define NE1_FW_HEADER_SIZE	512

struct ne1_fw_header {
	__u32 magic;
	__u32 header_size;		/* NE1_FW_HEADER_SIZE */
	__u32 payload_size;		/* bytes, 1..TCM size, multiple of 4 */
	__u32 load_addr;		/* management-core address, within TCM */
	__u32 entry;			/* within the payload, multiple of 2 */
	__u32 memory_size;		/* payload + bss + stack, from load_addr, within TCM */
	__u16 abi_major;		/* of ne1_fwabi.h */
	__u16 abi_minor;
	__u32 fw_version;		/* major 31:24, minor 23:16, patch 15:0 */
	__u32 security_version;		/* rollback protection */
	__u32 flags;			/* 0 */
	char build[56];			/* text, NUL padded: git description */
	__u8 sha512[64];		/* of the payload */
	__u8 key_id[8];			/* first bytes of SHA-512 of the public key */
	__u8 reserved0[24];		/* 0 */
	/* offset 192: end of the signed part */
	__u8 signature[64];		/* Ed25519, detached */
	__u8 reserved1[256];		/* 0 */
};

#define NE1_FW_SIGNED_BYTES	192
NE1_ASSERT(sizeof(struct ne1_fw_header) == NE1_FW_HEADER_SIZE);
NE1_ASSERT(__builtin_offsetof(struct ne1_fw_header, signature) == NE1_FW_SIGNED_BYTES);

#endif
