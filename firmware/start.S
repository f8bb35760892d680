/* SPDX-License-Identifier: MIT */
/*
 * Entry from the boot ROM and the trap vector.  The firmware polls MC_IRQ_PENDING after WFI and
 * never sets mstatus.MIE, so every trap is an exception and none returns.
 */
	.section .text.start, "ax"
	.globl	_start
_start:
	.option push
	.option norelax
	la	gp, __global_pointer$
	.option pop
	la	sp, __stack_top
	la	t0, trap_entry
	csrw	mtvec, t0
	la	t0, __bss_start
	la	t1, __bss_end
1:	bgeu	t0, t1, 2f
	sw	zero, 0(t0)
	addi	t0, t0, 4
	j	1b
2:	li	t0, 1 << 11		/* mie.MEIE: what WFI wakes for */
	csrw	mie, t0
	call	fw_main
3:	wfi
	j	3b

	.balign	4
trap_entry:
	csrr	a1, mepc
	csrr	a0, mcause
	csrr	a2, mtval
	.option push
	.option norelax
	la	gp, __global_pointer$
	.option pop
	la	sp, __stack_top		/* whatever ran is not continued */
	j	panic_trap
