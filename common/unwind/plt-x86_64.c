/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decodes PLTs of x86-64. Instructions by linker (psABI x86-64, 5.2 and A.3; binutils'
 * elf64-x86-64.c, lld's Arch/X86_64.cpp, mold's elf/arch-x86-64.cc):
 *
 *	                 head                                   stub
 *	GNU, gold, lld   push GOT+8; jmp *GOT+16                jmp *slot; push index; jmp head
 *	with IBT         the same                               endbr64; push index; jmp head
 *	  .plt.sec                                              endbr64; jmp *slot
 *	mold             endbr64; push r11; push GOT+8; jmp …   endbr64; mov index, r11d; jmp *slot
 *	.plt.got, .iplt                                         (endbr64;) jmp *slot
 *
 * Each jump may have the prefix bnd. Code after a jump and any padding is reached by a call or
 * through a slot, with nothing pushed. Only the head is jumped to: the jump shows what is pushed.
 */
#include <string.h>

#include "common/unwind/cfi-program.h"

enum kind {
	NOTHING, /* without effect on the stack */
	PUSH,
	JUMP,	   /* to an address */
	JUMP_SLOT, /* through a slot */
	PADDING,
};

struct instruction {
	enum kind kind;
	bool has_target; /* ends with 32 bits: where a jump goes, or its slot is */
	uint8_t n_bytes, bytes[6];
	uint8_t size;
};

static const struct instruction known[] = {
	{ NOTHING, false, 4, { 0xf3, 0x0f, 0x1e, 0xfa }, 4 },		  /* endbr64 */
	{ NOTHING, false, 2, { 0x41, 0xbb }, 6 },			  /* mov $…, %r11d */
	{ PUSH, false, 1, { 0x68 }, 5 },				  /* push $… */
	{ PUSH, false, 2, { 0xff, 0x35 }, 6 },				  /* push …(%rip) */
	{ PUSH, false, 2, { 0x41, 0x53 }, 2 },				  /* push %r11 */
	{ JUMP, true, 1, { 0xe9 }, 5 },					  /* jmp … */
	{ JUMP, true, 2, { 0xf2, 0xe9 }, 6 },				  /* bnd jmp … */
	{ JUMP_SLOT, true, 2, { 0xff, 0x25 }, 6 },			  /* jmp *…(%rip) */
	{ JUMP_SLOT, true, 3, { 0xf2, 0xff, 0x25 }, 7 },		  /* bnd jmp *…(%rip) */
	{ PADDING, false, 1, { 0xcc }, 1 },				  /* int3 */
	{ PADDING, false, 1, { 0x90 }, 1 },				  /* nop */
	{ PADDING, false, 2, { 0x66, 0x90 }, 2 },			  /* xchg %ax, %ax */
	{ PADDING, false, 3, { 0x0f, 0x1f, 0x00 }, 3 },			  /* nopl (%rax) */
	{ PADDING, false, 4, { 0x0f, 0x1f, 0x40, 0x00 }, 4 },		  /* nopl 0(%rax) */
	{ PADDING, false, 5, { 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 5 },	  /* nopl 0(%rax,%rax) */
	{ PADDING, false, 6, { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 }, 6 }, /* nopw 0(%rax,%rax) */
};

/* The instruction at `at`; NULL: it is unknown, or goes beyond the end. */
static const struct instruction *find(const struct plt_code *code, size_t at)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].size <= code->size - at &&
		    !memcmp(code->bytes + at, known[i].bytes, known[i].n_bytes))
			return &known[i];
	return NULL;
}

static bool is_jump(const struct instruction *instruction)
{
	return instruction->kind == JUMP || instruction->kind == JUMP_SLOT;
}

static uint64_t target_of(const struct plt_code *code, const struct instruction *instruction,
			  size_t at)
{
	int32_t offset;

	memcpy(&offset, code->bytes + at + instruction->size - sizeof(offset), sizeof(offset));
	return code->address + at + instruction->size + offset;
}

/* Follows how many bytes are pushed at each instruction. */
struct plt_walk {
	int32_t pushed;
	bool has_head_pushed; /* a jump leads to the head */
	int32_t head_pushed;
};

/* Returns false for a jump into the middle of the code, or two that contradict each other. */
static bool note_jump(struct plt_walk *walk, uint64_t offset, size_t size)
{
	if (offset >= size)
		return true; /* it leaves the code */
	if (offset || (walk->has_head_pushed && walk->head_pushed != walk->pushed))
		return false;
	walk->has_head_pushed = true;
	walk->head_pushed = walk->pushed;
	return true;
}

static void follow(struct plt_walk *walk, const struct instruction *instruction)
{
	if (instruction->kind == PUSH)
		walk->pushed += 8;
	else if (is_jump(instruction))
		walk->pushed = 0;
}

/* Whether all of the code is known; `ret` is how many bytes are pushed at its head. */
static bool find_head_pushed(const struct plt_code *code, int32_t *ret)
{
	struct plt_walk walk = { 0 };

	for (size_t at = 0; at < code->size;) {
		const struct instruction *instruction = find(code, at);

		if (!instruction)
			return false;
		if (instruction->kind == JUMP &&
		    !note_jump(&walk, target_of(code, instruction, at) - code->address, code->size))
			return false;
		follow(&walk, instruction);
		at += instruction->size;
	}
	*ret = walk.head_pushed;
	return walk.pushed == 0; /* else execution would run past its end */
}

int plt_x86_64_rows(const struct plt_code *code, const struct cfi_rows *rows)
{
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP,
		.return_address = UNWIND_VALUE_AT_CFA,
		.return_address_offset = -8,
		.fp = UNWIND_VALUE_SAME,
		.flags = UNWIND_FLAG_INFERRED,
	};
	struct plt_walk walk = { 0 };
	int r = 0;

	if (!find_head_pushed(code, &walk.pushed))
		return 1;
	for (size_t at = 0; at < code->size && r == 0;) {
		const struct instruction *instruction = find(code, at);

		if (rule.cfa_offset != walk.pushed + 8) {
			rule.cfa_offset = walk.pushed + 8;
			r = rows->add(code->address + at, &rule, rows->arg);
		}
		follow(&walk, instruction);
		at += instruction->size;
	}
	return r;
}

size_t plt_x86_64_stub(const struct plt_code *code, uint64_t *ret_slot)
{
	const struct instruction *instruction = NULL;
	size_t at = 0;
	bool has_jumped = false;

	*ret_slot = 0;
	while (at < code->size) {
		const struct instruction *last = instruction;

		instruction = find(code, at);
		if (!instruction)
			return 0;
		/* After its jump through the slot a stub has at most the push of its index. */
		if (has_jumped && instruction->kind != PADDING &&
		    !(last->kind == JUMP_SLOT && code->bytes[at] == 0x68))
			break;
		has_jumped = is_jump(instruction) || (has_jumped && instruction->kind == PADDING);
		if (instruction->kind == JUMP_SLOT)
			*ret_slot = target_of(code, instruction, at);
		at += instruction->size;
	}
	return at;
}
