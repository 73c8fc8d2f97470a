/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "preload-source/injected/raw.h"
#include "preload-source/injected/thread.h"

#ifndef __x86_64__
#error "registers are read for x86-64 only"
#endif

/*
 * Reads the registers of HEAP_RECORD_RAW, in its order. The unwind information of our own code
 * leads from here to the caller.
 */
static inline __attribute__((always_inline)) void read_registers(uint64_t ret[HEAP_RAW_REGISTERS])
{
	__asm__ volatile("lea 0(%%rip), %%rax\n\t"
			 "mov %%rax, 0(%0)\n\t"
			 "mov %%rsp, 8(%0)\n\t"
			 "mov %%rbp, 16(%0)\n\t"
			 "mov %%rbx, 24(%0)\n\t"
			 "mov %%r12, 32(%0)\n\t"
			 "mov %%r13, 40(%0)\n\t"
			 "mov %%r14, 48(%0)\n\t"
			 "mov %%r15, 56(%0)\n\t"
			 :
			 : "c"(ret)
			 : "rax", "memory");
}

__attribute__((noinline)) bool raw_put(struct walk_frame caller)
{
	struct stack_view *stack = &thread.scratch->walker.stack;
	uint64_t registers[HEAP_RAW_REGISTERS], size, *record;
	uint32_t n;

	read_registers(registers);
	/* Never read in place: a program may have any memory beyond its own frame. */
	stack_view_begin(stack, &(struct stack_own){ .tid = thread.stack->tid }, registers[1]);
	stack_view_extend(stack, HEAP_RAW_BYTES_MAX);
	size = stack->size < HEAP_RAW_BYTES_MAX ? stack->size : HEAP_RAW_BYTES_MAX;
	size -= size % sizeof(*record);
	n = HEAP_RAW_WORDS + size / sizeof(*record);
	record = thread_reserve(n);
	if (!record)
		return false;
	record[0] = (uint64_t)HEAP_RECORD_RAW << HEAP_KIND_SHIFT | thread_time();
	record[1] = (uint64_t)(thread.scratch->generation & HEAP_GENERATION_MASK) << 32 | size;
	record[2] = caller.pc;
	memcpy(record + 3, registers, sizeof(registers));
	memcpy(record + HEAP_RAW_WORDS, stack->bytes, size);
	thread_commit(n);
	return true;
}
