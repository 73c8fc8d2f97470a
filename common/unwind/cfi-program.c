/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Follows only the three registers that lead from frame to frame: return address, frame pointer and
 * stack pointer. The stack pointer is the CFA; a rule for it must mean the same.
 */
#include <dwarf.h>
#include <stddef.h>

#include "common/unwind/cfi-program.h"

/* Signing of aarch64 return addresses begins or ends here; signatures are masked anyway. */
enum { NEGATE_RA_STATE_WITH_PC = 0x2c, NEGATE_RA_STATE = 0x2d };

/* The rule at an address, and the one of the stack pointer. */
struct state {
	struct unwind_rule rule;
	enum unwind_value sp; /* SAME: it is the CFA */
	int32_t sp_offset;
};

struct machine {
	const struct cfi *cfi;
	const struct unwind_arch *arch;
	const struct cfi_common *common;
	struct dwarf_cursor cursor;
	uint64_t address;
	struct state state, initial;
	bool has_initial;
	struct state remembered[CFI_STATES_MAX];
	size_t n_remembered;
	bool is_bad;
};

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	struct unwind_rule *rule = &machine->state.rule;

	rule->cfa_register = 0;
	rule->cfa_addend = 0;
	rule->cfa_offset = offset;
	if (offset != (int32_t)offset || number > UINT8_MAX) {
		rule->cfa = UNWIND_CFA_FALLBACK;
	} else if (number == machine->arch->base->sp) {
		rule->cfa = UNWIND_CFA_SP;
	} else if (number == machine->arch->base->fp) {
		rule->cfa = UNWIND_CFA_FP;
	} else {
		rule->cfa = UNWIND_CFA_REGISTER;
		rule->cfa_register = number;
	}
}

/* The register that the CFA is computed from; UINT64_MAX: the CFA is an expression. */
static uint64_t cfa_register(const struct machine *machine)
{
	switch (machine->state.rule.cfa) {
	case UNWIND_CFA_SP:
		return machine->arch->base->sp;
	case UNWIND_CFA_FP:
		return machine->arch->base->fp;
	case UNWIND_CFA_REGISTER:
		return machine->state.rule.cfa_register;
	default:
		return UINT64_MAX;
	}
}

static void set_value(struct machine *machine, uint64_t number, enum unwind_value value,
		      int64_t offset)
{
	struct unwind_rule *rule = &machine->state.rule;

	if (offset != (int32_t)offset)
		value = UNWIND_VALUE_FALLBACK;
	if (number == machine->common->return_address) {
		rule->return_address = value;
		rule->return_address_offset = offset;
	} else if (number == machine->arch->base->fp) {
		rule->fp = value;
		rule->fp_offset = offset;
	} else if (number == machine->arch->base->sp) {
		machine->state.sp = value;
		machine->state.sp_offset = offset;
	}
}

/* A register that is cfa + offset, without a load: only sp + 0 is known, which is the CFA. */
static void set_computed(struct machine *machine, uint64_t number, int64_t offset)
{
	bool is_cfa = number == machine->arch->base->sp && offset == 0;

	set_value(machine, number, is_cfa ? UNWIND_VALUE_SAME : UNWIND_VALUE_FALLBACK, 0);
}

/* Restores the CIE's rule for a register, which a CIE itself cannot do. */
static void restore(struct machine *machine, uint64_t number)
{
	if (!machine->has_initial) {
		machine->is_bad = true;
	} else if (number == machine->common->return_address) {
		machine->state.rule.return_address = machine->initial.rule.return_address;
		machine->state.rule.return_address_offset =
			machine->initial.rule.return_address_offset;
	} else if (number == machine->arch->base->fp) {
		machine->state.rule.fp = machine->initial.rule.fp;
		machine->state.rule.fp_offset = machine->initial.rule.fp_offset;
	} else if (number == machine->arch->base->sp) {
		machine->state.sp = machine->initial.sp;
		machine->state.sp_offset = machine->initial.sp_offset;
	}
}

/* The word at a register plus a number is the only common expression for a register. */
static void set_expression(struct machine *machine, uint64_t number, const uint8_t *expression,
			   size_t size)
{
	struct dwarf_cursor cursor = { expression, expression + size, false };
	uint8_t operation = dwarf_take(&cursor, 1);
	int64_t offset = dwarf_take_sleb(&cursor);
	enum unwind_value value = UNWIND_VALUE_FALLBACK;

	if (!cursor.is_bad && cursor.at == cursor.end) {
		if (operation == DW_OP_breg0 + machine->arch->base->sp)
			value = UNWIND_VALUE_AT_SP;
		else if (operation == DW_OP_breg0 + machine->arch->base->fp)
			value = UNWIND_VALUE_AT_FP;
	}
	set_value(machine, number, value, offset);
}

/* Returns the bytes of an expression, and moves the cursor past them. */
static const uint8_t *take_block(struct machine *machine, size_t *ret_size)
{
	struct dwarf_cursor *cursor = &machine->cursor;
	uint64_t size = dwarf_take_uleb(cursor);
	const uint8_t *block = cursor->at;

	*ret_size = 0;
	if (size > (uint64_t)(cursor->end - cursor->at)) {
		cursor->is_bad = true;
		return block;
	}
	*ret_size = size;
	cursor->at += size;
	return block;
}

static void define_cfa_expression(struct machine *machine)
{
	size_t size;
	const uint8_t *block = take_block(machine, &size);

	machine->state.rule.cfa_register = 0;
	machine->state.rule.cfa_offset = machine->state.rule.cfa_addend = 0;
	machine->state.rule.cfa = UNWIND_CFA_FALLBACK;
	if (machine->arch->classify_cfa)
		machine->arch->classify_cfa(block, size, &machine->state.rule);
}

static int64_t factored(const struct machine *machine, int64_t offset)
{
	return (int64_t)((uint64_t)offset * (uint64_t)machine->common->data_factor);
}

static void remember(struct machine *machine)
{
	if (machine->n_remembered == CFI_STATES_MAX)
		machine->is_bad = true;
	else
		machine->remembered[machine->n_remembered++] = machine->state;
}

static void recall(struct machine *machine)
{
	if (machine->n_remembered == 0)
		machine->is_bad = true;
	else
		machine->state = machine->remembered[--machine->n_remembered];
}

/* Runs an instruction about the CFA; false: it is another one. */
static bool define_cfa(struct machine *machine, uint8_t instruction)
{
	struct dwarf_cursor *cursor = &machine->cursor;
	uint64_t number;

	switch (instruction) {
	case DW_CFA_def_cfa:
		number = dwarf_take_uleb(cursor);
		set_cfa(machine, number, dwarf_take_uleb(cursor));
		break;
	case DW_CFA_def_cfa_sf:
		number = dwarf_take_uleb(cursor);
		set_cfa(machine, number, factored(machine, dwarf_take_sleb(cursor)));
		break;
	case DW_CFA_def_cfa_register:
		number = dwarf_take_uleb(cursor);
		if (cfa_register(machine) == UINT64_MAX)
			number = UINT64_MAX;
		set_cfa(machine, number, machine->state.rule.cfa_offset);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa(machine, cfa_register(machine), dwarf_take_uleb(cursor));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(machine, cfa_register(machine), factored(machine, dwarf_take_sleb(cursor)));
		break;
	case DW_CFA_def_cfa_expression:
		define_cfa_expression(machine);
		break;
	default:
		return false;
	}
	return true;
}

/* Runs an instruction about one register; false: it is another one. */
static bool define_register(struct machine *machine, uint8_t instruction)
{
	struct dwarf_cursor *cursor = &machine->cursor;
	const uint8_t *block;
	uint64_t number;
	size_t size;

	switch (instruction) {
	case DW_CFA_offset_extended:
		number = dwarf_take_uleb(cursor);
		set_value(machine, number, UNWIND_VALUE_AT_CFA,
			  factored(machine, dwarf_take_uleb(cursor)));
		break;
	case DW_CFA_offset_extended_sf:
		number = dwarf_take_uleb(cursor);
		set_value(machine, number, UNWIND_VALUE_AT_CFA,
			  factored(machine, dwarf_take_sleb(cursor)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		number = dwarf_take_uleb(cursor);
		set_value(machine, number, UNWIND_VALUE_AT_CFA,
			  factored(machine, -dwarf_take_uleb(cursor)));
		break;
	case DW_CFA_restore_extended:
		restore(machine, dwarf_take_uleb(cursor));
		break;
	case DW_CFA_undefined:
		set_value(machine, dwarf_take_uleb(cursor), UNWIND_VALUE_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_value(machine, dwarf_take_uleb(cursor), UNWIND_VALUE_SAME, 0);
		break;
	case DW_CFA_register:
		number = dwarf_take_uleb(cursor);
		set_value(machine, number, UNWIND_VALUE_REGISTER, dwarf_take_uleb(cursor));
		break;
	case DW_CFA_expression:
		number = dwarf_take_uleb(cursor);
		block = take_block(machine, &size);
		set_expression(machine, number, block, size);
		break;
	case DW_CFA_val_offset:
		number = dwarf_take_uleb(cursor);
		set_computed(machine, number, dwarf_take_uleb(cursor));
		break;
	case DW_CFA_val_offset_sf:
		number = dwarf_take_uleb(cursor);
		set_computed(machine, number, dwarf_take_sleb(cursor));
		break;
	case DW_CFA_val_expression:
		set_value(machine, dwarf_take_uleb(cursor), UNWIND_VALUE_FALLBACK, 0);
		take_block(machine, &size);
		break;
	default:
		return false;
	}
	return true;
}

/* Runs an instruction whose low six bits are part of its opcode, unless it advances the address. */
static void execute_extended(struct machine *machine, uint8_t instruction)
{
	if (define_cfa(machine, instruction) || define_register(machine, instruction))
		return;
	switch (instruction) {
	case DW_CFA_nop:
		break;
	case DW_CFA_remember_state:
		remember(machine);
		break;
	case DW_CFA_restore_state:
		recall(machine);
		break;
	case DW_CFA_GNU_args_size:
		dwarf_take_uleb(&machine->cursor);
		break;
	case NEGATE_RA_STATE_WITH_PC:
	case NEGATE_RA_STATE:
		if (machine->arch != &unwind_aarch64)
			machine->is_bad = true;
		break;
	default:
		machine->is_bad = true;
	}
}

/* A signal frame's CFA is the word that holds its saved stack pointer. */
static bool is_sp_the_cfa(const struct state *state)
{
	return state->sp == UNWIND_VALUE_SAME ||
	       (state->sp == UNWIND_VALUE_AT_SP && state->rule.cfa == UNWIND_CFA_AT_SP &&
		state->sp_offset == state->rule.cfa_offset && state->rule.cfa_addend == 0);
}

static int put_rule(const struct machine *machine, const struct cfi_rows *rows)
{
	struct unwind_rule rule = machine->state.rule;

	if (machine->is_bad)
		rule = (struct unwind_rule){ .cfa = UNWIND_CFA_FALLBACK };
	else if (!is_sp_the_cfa(&machine->state))
		rule.cfa = UNWIND_CFA_FALLBACK;
	/* In a register, but an unusual one (glibc's rawmemchr() on aarch64: x15). */
	if (rule.return_address == UNWIND_VALUE_SAME &&
	    machine->common->return_address != machine->arch->base->return_address)
		rule.return_address = UNWIND_VALUE_FALLBACK;
	return rows->add(machine->address, &rule, rows->arg);
}

/* Emits the rule that held up to `address`. */
static int advance_to(struct machine *machine, uint64_t address, const struct cfi_rows *rows)
{
	int r;

	if (address == machine->address)
		return 0;
	if (address < machine->address) { /* it must not decrease */
		machine->is_bad = true;
		return 0;
	}
	r = put_rule(machine, rows);
	machine->address = address;
	return r;
}

static int advance_by(struct machine *machine, uint64_t n, const struct cfi_rows *rows)
{
	return advance_to(machine, machine->address + n * machine->common->code_factor, rows);
}

static int step(struct machine *machine, const struct cfi_rows *rows)
{
	struct dwarf_cursor *cursor = &machine->cursor;
	uint8_t instruction = dwarf_take(cursor, 1), low = instruction & 0x3f;
	uint64_t place;

	switch (instruction & 0xc0) {
	case DW_CFA_advance_loc:
		return advance_by(machine, low, rows);
	case DW_CFA_offset:
		set_value(machine, low, UNWIND_VALUE_AT_CFA,
			  factored(machine, dwarf_take_uleb(cursor)));
		return 0;
	case DW_CFA_restore:
		restore(machine, low);
		return 0;
	}
	switch (instruction) {
	case DW_CFA_set_loc:
		place = cfi_take_encoded(cursor, machine->common->encoding,
					 cfi_address(&machine->cfi->section, cursor->at));
		return cursor->is_bad ? 0 : advance_to(machine, place, rows);
	case DW_CFA_advance_loc1:
		return advance_by(machine, dwarf_take(cursor, 1), rows);
	case DW_CFA_advance_loc2:
		return advance_by(machine, dwarf_take(cursor, 2), rows);
	case DW_CFA_advance_loc4:
		return advance_by(machine, dwarf_take(cursor, 4), rows);
	default:
		execute_extended(machine, instruction);
		return 0;
	}
}

/* Runs a program to its end, or to the end of the code that it describes. */
static int run(struct machine *machine, const uint8_t *program, const uint8_t *program_end,
	       uint64_t end, const struct cfi_rows *rows)
{
	int r = 0;

	machine->cursor = (struct dwarf_cursor){ program, program_end, false };
	while (r == 0 && machine->cursor.at < machine->cursor.end && machine->address < end &&
	       !machine->is_bad) {
		r = step(machine, rows);
		machine->is_bad |= machine->cursor.is_bad;
	}
	return r;
}

static int add_nothing(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	return 0;
}

int cfi_run(const struct cfi *cfi, const struct cfi_description *description,
	    const struct unwind_arch *arch, const struct cfi_rows *rows)
{
	static const struct cfi_rows nobody = { add_nothing, NULL };
	const struct cfi_common *common = &cfi->commons[description->common];
	struct machine machine = {
		.cfi = cfi,
		.arch = arch,
		.common = common,
		.address = description->start,
		.state.sp = UNWIND_VALUE_SAME,
		.state.rule = {
			.cfa = UNWIND_CFA_FALLBACK,
			.return_address = arch->base->call_pushes ? UNWIND_VALUE_FALLBACK
								  : UNWIND_VALUE_SAME,
			.fp = UNWIND_VALUE_SAME,
			.flags = common->is_signal_frame ? UNWIND_FLAG_SIGNAL : 0,
		},
	};
	int r;

	run(&machine, common->program, common->program_end, UINT64_MAX, &nobody);
	if (machine.address != description->start) /* a CIE describes no code */
		machine.is_bad = true;
	machine.address = description->start;
	machine.initial = machine.state;
	machine.has_initial = true;
	r = machine.is_bad ? 0
			   : run(&machine, description->program, description->program_end,
				 description->end, rows);
	if (r < 0 || machine.address >= description->end)
		return r;
	return put_rule(&machine, rows);
}
