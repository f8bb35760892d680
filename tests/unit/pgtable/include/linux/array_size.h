/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_ARRAY_SIZE_H
#define SHIM_LINUX_ARRAY_SIZE_H

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
