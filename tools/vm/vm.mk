# SPDX-License-Identifier: MIT
# The test bench.  Every recipe that needs Debian's compilers, headers or QEMU goes through these:
#	$(vm-enter) COMMAND		in the tree, with this checkout at the same path
#	$(vm-run) OPTIONS -- COMMAND	in a guest
#	$(call vm-kdir,x86_64,7.3)	where to build modules for a kernel (a path inside the tree)
include tools/vm/versions

vm-enter	:= tools/vm/enter --
vm-run		:= tools/vm/run
vm-kdir		= $(shell tools/vm/kernels --kdir $(1) $(2))
vm-release	= $(shell tools/vm/kernels --release $(1) $(2))
vm-tests	+= tools/vm/selftest

.PHONY: setup vm
setup: ## make the test bench in the cache: Debian tree, kernels, QEMU, model
	tools/vm/setup

vm: ## an interactive shell in a guest
	$(vm-run) --shell
