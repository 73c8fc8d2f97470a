/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdw.h>

#include "common/base/cleanup.h"
#include "live-unwinder/engine.h"
#include "live-unwinder/stack-end.h"

enum { ARGC_MAX = 8192 }; /* fits into a captured stack */

/* The row of unwind information for an address; NULL: none. The caller frees it. */
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
	if (dwarf_frame_register(row, question->arch->return_address, memory, &ops, &n) < 0)
		return 0;
	/* libdw.h: undefined is 0 operations at `memory`, same value is 0 operations at NULL. */
	return n == 0 && ops == memory ? WIRE_stack_end_COMPLETE : 0;
}

/* The result of an expression, or of reading the slot that it leads to. */
enum finding {
	FINDING_VALUE,
	FINDING_TRUNCATED,   /* needs bytes that were not captured */
	FINDING_INVALID,     /* needs a word outside user addresses */
	FINDING_UNSUPPORTED, /* has an unusual form */
};

enum { OPERANDS_MAX = 4 };

struct operands {
	uint64_t list[OPERANDS_MAX];
	size_t n;
};

static enum finding push(struct operands *operands, uint64_t value)
{
	if (operands->n == OPERANDS_MAX)
		return FINDING_UNSUPPORTED;
	operands->list[operands->n++] = value;
	return FINDING_VALUE;
}

/* A register saved below the sampled stack pointer, as behind a function's pops, is unknown. */
static enum finding push_register(const struct stack_end_question *question,
				  struct operands *operands, uint64_t number, uint64_t offset)
{
	if (number >= ARCH_REGISTERS_MAX || !question->has_register[question->arch->sp])
		return FINDING_UNSUPPORTED;
	if (!question->has_register[number])
		return FINDING_TRUNCATED;
	return push(operands, question->registers[number] + offset);
}

static enum finding dereference(const struct stack_end_question *question,
				struct operands *operands)
{
	uint64_t *top;

	if (operands->n == 0)
		return FINDING_UNSUPPORTED;
	top = &operands->list[operands->n - 1];
	if (stack_read_word(&question->stack, question->stack_start, *top, top))
		return FINDING_VALUE;
	*question->missing = *top;
	return *top >> USER_BITS ? FINDING_INVALID : FINDING_TRUNCATED;
}

/* Covers the operations that compilers and assemblers use for frames, except for PLTs. */
static enum finding operate(const struct stack_end_question *question, const Dwarf_Op *op,
			    uint64_t cfa, struct operands *operands)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(question, operands, op->atom - DW_OP_breg0, op->number);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_register(question, operands, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(operands, cfa);
	case DW_OP_deref:
		return dereference(question, operands);
	case DW_OP_plus_uconst:
		if (operands->n == 0)
			return FINDING_UNSUPPORTED;
		operands->list[operands->n - 1] += op->number;
		return FINDING_VALUE;
	default:
		return FINDING_UNSUPPORTED;
	}
}

static enum finding evaluate(const struct stack_end_question *question, const Dwarf_Op *ops,
			     size_t n, uint64_t cfa, uint64_t *ret)
{
	struct operands operands = { .n = 0 };
	enum finding finding = FINDING_VALUE;

	for (size_t i = 0; i < n && finding == FINDING_VALUE; i++)
		finding = operate(question, &ops[i], cfa, &operands);
	if (finding != FINDING_VALUE)
		return finding;
	if (operands.n != 1)
		return FINDING_UNSUPPORTED;
	*ret = operands.list[0];
	return FINDING_VALUE;
}

/* The address at which the rule finds the return address. */
static enum finding find_return_address(const struct stack_end_question *question, Dwarf_Frame *row,
					uint64_t *ret)
{
	Dwarf_Op memory[3], *ops;
	enum finding finding;
	uint64_t cfa;
	size_t n;

	if (dwarf_frame_cfa(row, &ops, &n) < 0)
		return FINDING_UNSUPPORTED;
	finding = evaluate(question, ops, n, 0, &cfa);
	if (finding != FINDING_VALUE)
		return finding;
	if (dwarf_frame_register(row, question->arch->return_address, memory, &ops, &n) < 0)
		return FINDING_UNSUPPORTED;
	return evaluate(question, ops, n, cfa, ret);
}

enum wire_stack_end stack_end_of_registers(const struct stack_end_question *question)
{
	_cleanup_free_ Dwarf_Frame *row = find_row(question);
	uint64_t where, word;

	if (!row)
		return WIRE_stack_end_NO_UNWIND_INFO;
	switch (find_return_address(question, row, &where)) {
	case FINDING_VALUE:
		break;
	case FINDING_TRUNCATED:
		return WIRE_stack_end_TRUNCATED;
	case FINDING_INVALID:
		return WIRE_stack_end_BAD_UNWIND_INFO;
	case FINDING_UNSUPPORTED: /* may have read the stack: judge by sp */
		if (!question->has_register[question->arch->sp])
			return WIRE_stack_end_BAD_UNWIND_INFO;
		where = question->registers[question->arch->sp];
	}
	if (where >> USER_BITS ||
	    stack_read_word(&question->stack, question->stack_start, where, &word))
		return WIRE_stack_end_BAD_UNWIND_INFO;
	*question->missing = where;
	return WIRE_stack_end_TRUNCATED;
}

bool stack_end_is_initial_stack(const struct wire_blob *stack, uint64_t stack_start, uint64_t sp)
{
	uint64_t argc, word;

	if (sp % 16 || !stack_read_word(stack, stack_start, sp, &argc) || argc < 1 ||
	    argc > ARGC_MAX)
		return false;
	for (uint64_t i = 1; i <= argc; i++)
		if (!stack_read_word(stack, stack_start, sp + 8 * i, &word) || word <= sp)
			return false;
	return stack_read_word(stack, stack_start, sp + 8 * (argc + 1), &word) && word == 0;
}
