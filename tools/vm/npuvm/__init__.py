# SPDX-License-Identifier: MIT
"""The test bench: a Debian tree to build in, and a guest that boots from it."""
