/* SPDX-License-Identifier: MIT */
/* What the tested sources use of it is in the language. */
