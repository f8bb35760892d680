/* SPDX-License-Identifier: MIT */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

#define min(a, b) ((a) < (b) ? (a) : (b))

#endif
