# SPDX-License-Identifier: MIT
libnpu-src += $(addprefix libnpu/runtime/,session.c runner.c placement.c)
