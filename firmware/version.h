/* SPDX-License-Identifier: MIT */
/* Version of the NE1 firmware, read by the firmware itself and by the image packer. */
#ifndef NE1_FW_VERSION_H
#define NE1_FW_VERSION_H

/* major 31:24, minor 23:16, patch 15:0 */
#define FW_VERSION		((1u << 24) | (2u << 16) | 0u)
#define FW_SECURITY_VERSION	1u	/* raised when an older image must no longer boot */

#endif
