# SPDX-License-Identifier: MIT
# Host tests.  A fragment appends programs to unit-tests or scripts to script-tests.

-include $(wildcard tests/*/*.mk)
