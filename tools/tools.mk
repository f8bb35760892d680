# SPDX-License-Identifier: MIT
# Host programs; each fragment appends to tool-programs.

-include tools/npu-run/npu-run.mk

tools: $(tool-programs) ## npusim, npu-run
