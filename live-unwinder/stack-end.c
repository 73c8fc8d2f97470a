/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdw.h>

#include "common/arch.h"
#include "common/cleanup.h"
#include "live-unwinder/stack-end.h"

enum { ARGC_MAX = 8192 }; /* what fits into a captured stack */

/* The row of unwind information for an address; NULL: there is none. The caller frees it. */
static Dwarf_Frame *find_row(const struct stack_end_question *question)
{
	Dwarf_CFI *(*const sources[])(Dwfl_Module *, Dwarf_Addr *) = {
		dwfl_module_eh_cfi,
		dwfl_module_dwarf_cfi,
	};

	for (size_t i = 0; question->module && i < 2; i++) {
		Dwarf_Addr bias;
		Dwarf_CFI *cfi = sources[i](question->module, &bias);
		Dwarf_Frame *row;

		if (cfi && dwarf_cfi_addrframe(cfi, question->address - bias, &row) == 0)
			return row;
	}
	return NULL;
}

enum wire_stack_end stack_end_of_rule(const struct stack_end_question *question)
{
	_cleanup_free_ Dwarf_Frame *row = find_row(question);
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (!row)
		return WIRE_stack_end_NO_UNWIND_INFO;
	if (dwarf_frame_register(row, arch_host.dwarf_return_address, memory, &ops, &n) < 0)
		return 0;
	/* libdw.h: undefined is no operations at `memory`; the same value is no operations at NULL
	 */
	return n == 0 && ops == memory ? WIRE_stack_end_COMPLETE : 0;
}

/* A CFA of the usual form, a register plus an offset; false: another form. */
static bool find_base(Dwarf_Frame *row, uint64_t *ret_number, uint64_t *ret_offset)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(row, &ops, &n) < 0 || n != 1)
		return false;
	if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
		*ret_number = ops[0].atom - DW_OP_breg0;
		*ret_offset = ops[0].number;
	} else if (ops[0].atom == DW_OP_bregx) {
		*ret_number = ops[0].number;
		*ret_offset = ops[0].number2;
	} else {
		return false;
	}
	return true;
}

static bool evaluate_cfa(const struct stack_end_question *question, Dwarf_Frame *row, uint64_t *ret)
{
	uint64_t number, offset;

	if (!find_base(row, &number, &offset))
		return false;
	if (number >= STACK_END_REGISTERS_MAX || !question->has_register[number])
		return false;
	*ret = question->registers[number] + offset;
	return true;
}

/* Whether the CFA rests on a register whose value was not among the captured bytes. */
static bool is_base_unknown(const struct stack_end_question *question, Dwarf_Frame *row)
{
	uint64_t number, offset;

	return question->has_register[arch_host.dwarf_sp] && find_base(row, &number, &offset) &&
	       number < STACK_END_REGISTERS_MAX && !question->has_register[number];
}

/* Where the rule looks for the return address; false: it cannot be told. */
static bool find_return_address(const struct stack_end_question *question, Dwarf_Frame *row,
				uint64_t *ret)
{
	Dwarf_Op memory[3], *ops;
	uint64_t cfa;
	size_t n;

	if (!evaluate_cfa(question, row, &cfa) ||
	    dwarf_frame_register(row, arch_host.dwarf_return_address, memory, &ops, &n) < 0)
		return false;
	if (n == 0 || n > 2 || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (n == 2 && ops[1].atom != DW_OP_plus_uconst)
		return false;
	*ret = cfa + (n == 2 ? ops[1].number : 0);
	return true;
}

enum wire_stack_end stack_end_of_registers(const struct stack_end_question *question)
{
	_cleanup_free_ Dwarf_Frame *row = find_row(question);
	uint64_t end = question->stack_start + question->stack_size;
	uint64_t where;

	if (!row)
		return WIRE_stack_end_NO_UNWIND_INFO;
	/* Saved below the sampled stack pointer, as at the end of a function after its pops. */
	if (is_base_unknown(question, row))
		return WIRE_stack_end_TRUNCATED;
	if (!find_return_address(question, row, &where)) {
		/* An expression, which may have read the stack itself: judge by the frame. */
		if (!question->has_register[arch_host.dwarf_sp])
			return WIRE_stack_end_BAD_UNWIND_INFO;
		where = question->registers[arch_host.dwarf_sp];
	}
	/* Not a user address at all (47 bits, 56 with five-level page tables). */
	if (where >> 56)
		return WIRE_stack_end_BAD_UNWIND_INFO;
	if (where < question->stack_start || where + sizeof(uint64_t) > end)
		return WIRE_stack_end_TRUNCATED;
	return WIRE_stack_end_BAD_UNWIND_INFO;
}

static bool read_word(const struct wire_blob *stack, uint64_t start, uint64_t address,
		      uint64_t *ret)
{
	uint64_t offset = address - start;

	if (address < start || stack->size < sizeof(*ret) || offset > stack->size - sizeof(*ret))
		return false;
	memcpy(ret, (const char *)stack->data + offset, sizeof(*ret));
	return true;
}

bool stack_end_is_initial_stack(const struct wire_blob *stack, uint64_t stack_start, uint64_t sp)
{
	uint64_t argc, word;

	if (sp % 16 || !read_word(stack, stack_start, sp, &argc) || argc < 1 || argc > ARGC_MAX)
		return false;
	for (uint64_t i = 1; i <= argc; i++)
		if (!read_word(stack, stack_start, sp + 8 * i, &word) || word <= sp)
			return false;
	return read_word(stack, stack_start, sp + 8 * (argc + 1), &word) && word == 0;
}
