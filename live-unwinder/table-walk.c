/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/table-walk.h"

enum {
	FILE_REACH = 1 << 28, /* bytes: no file extends this far from its code */
	NO_FILES_MAX = 64,    /* mappings without a file that a search skips */
};

static bool read_word(struct table_walk *walk, uint64_t address, uint64_t *ret)
{
	struct passed_walk *passed = &walk->engine->passed;
	bool is_there = table_walk_find_word(walk, address, ret);

	if (is_there)
		passed_walk_add_word(passed, address, *ret);
	else
		passed->is_other = true;
	return is_there;
}

/* Only the sampled frame and interrupted frames have all registers. */
static bool find_register(struct table_walk *walk, int64_t number, uint64_t *ret)
{
	const struct arch *arch = walk->unwinding->arch;

	if (number < 0 || number >= arch->n_registers)
		return false;
	if (walk->is_sampled) {
		*ret = unwinding_register(walk->unwinding, number);
		return true;
	}
	return walk->interrupted_at &&
	       read_word(walk, walk->interrupted_at + arch->interrupted_at[number], ret);
}

bool table_walk_give_up(struct table_walk *walk, enum engine_table_outcome outcome)
{
	struct unwinding *unwinding = walk->unwinding;
	bool contradicts = unwinding->contradicts_cfi || unwinding->arch != arch_host() ||
			   (unwinding->n_made && outcome != ENGINE_TABLE_E_PENDING);

	if (!contradicts && !unwinding->words.n) {
		walk->outcome = outcome;
		return false;
	}
	if (!unwinding->n_frames)
		unwinding_add_sampled(unwinding);
	return table_walk_end(walk, contradicts ? WIRE_stack_end_BAD_UNWIND_INFO
						: WIRE_stack_end_IMAGE_UNAVAILABLE);
}

/* Whether an image consists only of what is mapped, with no file data before or behind it. */
static bool is_no_file(const struct table_walk *walk, const struct mapping *mapping)
{
	const struct image *image =
		image_table_find(walk->engine->tables->files->table, mapping->image);

	return image && image->kind != WIRE_image_kind_FILE;
}

/* Whether no file can be mapped at an address: it is near sp, or far from all files' code. */
static bool is_beyond_files(const struct table_walk *walk, uint64_t address)
{
	const struct mapping_table *mappings = process_mappings(walk->unwinding->process);
	const struct mapping *behind = mapping_table_next(mappings, address);
	const struct mapping *before = mapping_table_previous(mappings, address);

	if (address - walk->stack_start < STACK_REACH)
		return true;
	if (behind && behind->start <= address)
		return false; /* within code */
	for (int i = 0; i < NO_FILES_MAX && before && is_no_file(walk, before); i++)
		before = mapping_table_previous(mappings, before->start);
	for (int i = 0; i < NO_FILES_MAX && behind && is_no_file(walk, behind); i++)
		behind = mapping_table_next(mappings, behind->end);
	return (!before || address - before->end > FILE_REACH) &&
	       (!behind || behind->start - address > FILE_REACH);
}

/* Ends at a word that was not captured. elfutils may read it from a file, if one can be there. */
static bool miss(struct table_walk *walk, uint64_t address)
{
	/* No user address has higher bits. */
	if (address >> USER_BITS || !is_beyond_files(walk, address))
		return table_walk_give_up(walk, ENGINE_TABLE_E_BAD);
	return table_walk_end(walk, unwinding_end_without_word(walk->unwinding, address));
}

/* Reads a word that the step to the caller requires. */
static bool fetch_word(struct table_walk *walk, uint64_t address, uint64_t *ret)
{
	return read_word(walk, address, ret) || miss(walk, address);
}

/* Reads a word relative to fp, which is unknown if its save slot was not captured. */
static bool fetch_word_at_fp(struct table_walk *walk, int32_t offset, uint64_t *ret)
{
	if (!walk->knows_fp)
		return table_walk_end(walk, walk->without_fp);
	return fetch_word(walk, walk->fp + offset, ret);
}

/* false: the caller cannot be found; the reason is recorded. */
static bool find_cfa(struct table_walk *walk, const struct unwind_rule *rule, uint64_t *ret)
{
	switch (rule->cfa) {
	case UNWIND_CFA_SP:
		*ret = walk->sp + rule->cfa_offset;
		return true;
	case UNWIND_CFA_FP:
		if (!walk->knows_fp)
			return table_walk_end(walk, walk->without_fp);
		*ret = walk->fp + rule->cfa_offset;
		return true;
	case UNWIND_CFA_REGISTER:
		if (!find_register(walk, rule->cfa_register, ret))
			return table_walk_give_up(walk, ENGINE_TABLE_E_REGISTER);
		*ret += rule->cfa_offset;
		return true;
	case UNWIND_CFA_AT_SP:
		if (!fetch_word(walk, walk->sp + rule->cfa_offset, ret))
			return false;
		*ret += rule->cfa_addend;
		return true;
	case UNWIND_CFA_AT_FP:
		if (!fetch_word_at_fp(walk, rule->cfa_offset, ret))
			return false;
		*ret += rule->cfa_addend;
		return true;
	case UNWIND_CFA_PLT:
		*ret = walk->sp + rule->cfa_offset +
		       ((walk->pc & 15) >= rule->cfa_register ? 8 : 0);
		return true;
	case UNWIND_CFA_LOST:
		table_walk_overrule(walk);
		return table_walk_end(walk, WIRE_stack_end_BAD_UNWIND_INFO);
	default:
		return table_walk_give_up(walk, ENGINE_TABLE_E_RULE);
	}
}

static bool find_return_address(struct table_walk *walk, const struct unwind_rule *rule,
				uint64_t cfa, uint64_t *ret)
{
	int32_t offset = rule->return_address_offset;

	switch (rule->return_address) {
	case UNWIND_VALUE_AT_CFA:
		return fetch_word(walk, cfa + offset, ret);
	case UNWIND_VALUE_AT_SP:
		return fetch_word(walk, walk->sp + offset, ret);
	case UNWIND_VALUE_AT_FP:
		return fetch_word_at_fp(walk, offset, ret);
	case UNWIND_VALUE_SAME: /* in the return address register (aarch64) */
		offset = walk->unwinding->arch->return_address;
		/* fallthrough */
	case UNWIND_VALUE_REGISTER:
		return find_register(walk, offset, ret) ||
		       table_walk_give_up(walk, ENGINE_TABLE_E_REGISTER);
	default:
		return table_walk_give_up(walk, ENGINE_TABLE_E_RULE);
	}
}

/*
 * A realigned frame keeps its caller's frame pointer at the frame pointer until it returns. Where
 * code was seen to pop it, the table has that (common/unwind/unwind-popped.h). If the slot is still
 * outside this frame, another form of pop may have run, and the slot would be another frame's: fp
 * is then unknown.
 */
static bool may_be_popped(const struct table_walk *walk, const struct unwind_rule *rule,
			  uint64_t cfa)
{
	uint64_t place = walk->fp + rule->fp_offset;

	return cfa > walk->sp && place - walk->sp >= cfa - walk->sp;
}

/* A slot that was not captured leaves fp unknown, which is an error only if fp is needed later. */
static void load_fp(struct table_walk *walk, uint64_t address)
{
	walk->knows_fp = read_word(walk, address, &walk->fp);
	if (!walk->knows_fp)
		walk->without_fp = unwinding_end_without_word(walk->unwinding, address);
}

static bool find_fp(struct table_walk *walk, const struct unwind_rule *rule, uint64_t cfa)
{
	switch (rule->fp) {
	case UNWIND_VALUE_SAME:
		return true;
	case UNWIND_VALUE_UNDEFINED:
		walk->knows_fp = false;
		walk->without_fp = WIRE_stack_end_TRUNCATED; /* as elfutils ends there */
		return true;
	case UNWIND_VALUE_AT_CFA:
		load_fp(walk, cfa + rule->fp_offset);
		return true;
	case UNWIND_VALUE_AT_SP:
		load_fp(walk, walk->sp + rule->fp_offset);
		return true;
	case UNWIND_VALUE_AT_FP:
		if (walk->knows_fp && may_be_popped(walk, rule, cfa)) {
			table_walk_overrule(walk);
			walk->knows_fp = false;
			walk->without_fp = WIRE_stack_end_BAD_UNWIND_INFO;
		} else if (walk->knows_fp) {
			load_fp(walk, walk->fp + rule->fp_offset);
		}
		return true;
	case UNWIND_VALUE_REGISTER:
		return find_register(walk, rule->fp_offset, &walk->fp) ||
		       table_walk_give_up(walk, ENGINE_TABLE_E_REGISTER);
	default:
		return table_walk_give_up(walk, ENGINE_TABLE_E_RULE);
	}
}

/*
 * The address of the registers that a signal frame saved; 0: none. Only the kernel's own frame has
 * a known layout, recognized by its rule's three registers.
 */
static uint64_t find_interrupted(const struct table_walk *walk, const struct unwind_rule *rule)
{
	const struct arch *arch = walk->unwinding->arch;
	const int16_t *at = arch->interrupted_at;

	return (rule->flags & UNWIND_FLAG_SIGNAL) && rule->cfa == UNWIND_CFA_AT_SP &&
			       rule->cfa_addend == 0 && rule->cfa_offset == at[arch->sp] &&
			       rule->return_address == UNWIND_VALUE_AT_SP &&
			       rule->return_address_offset == at[arch->pc] &&
			       rule->fp == UNWIND_VALUE_AT_SP && rule->fp_offset == at[arch->fp]
		       ? walk->sp
		       : 0;
}

bool table_walk_step(struct table_walk *walk, const struct unwind_rule *rule)
{
	uint64_t cfa, pc;

	if (rule->flags & UNWIND_FLAG_INFERRED)
		table_walk_note_unconfirmable(walk);
	if (rule->flags & UNWIND_FLAG_USER_RULE)
		table_walk_overrule(walk);
	if (rule->return_address == UNWIND_VALUE_UNDEFINED)
		return table_walk_end(walk, WIRE_stack_end_COMPLETE);
	if (!find_cfa(walk, rule, &cfa) || !find_return_address(walk, rule, cfa, &pc) ||
	    !find_fp(walk, rule, cfa))
		return false;
	pc &= walk->unwinding->arch->code_mask;
	/* No return address, or no progress. */
	if (pc == 0 || (pc == walk->pc && cfa <= walk->sp))
		return table_walk_give_up(walk, ENGINE_TABLE_E_BAD);
	walk->interrupted_at = find_interrupted(walk, rule);
	stack_reads_add(walk->reads, cfa - sizeof(pc));
	walk->pc = pc;
	walk->sp = cfa;
	walk->is_sampled = false;
	walk->is_exact = rule->flags & UNWIND_FLAG_SIGNAL;
	return true;
}
