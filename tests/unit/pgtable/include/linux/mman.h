/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
