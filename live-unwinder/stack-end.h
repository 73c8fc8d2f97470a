/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a stack ends at its last frame. libdwfl gives 0 both where the return address is undefined
 * (a true outermost frame) and where the captured stack ran out; the frame's own rule tells.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "common/arch/arch.h"
#include "common/wire/wire.h"

struct stack_end_question {
	const struct arch *arch;
	Dwfl_Module *module;	/* of the last frame, may be NULL */
	uint64_t address;	/* to look up: one less for a return address */
	uint64_t stack_start;	/* what was captured */
	struct wire_blob stack; /* from there on */
	/* Of the last frame, by DWARF's numbers; for stack_end_of_registers() alone. */
	Dwarf_Word registers[ARCH_REGISTERS_MAX];
	bool has_register[ARCH_REGISTERS_MAX];
	/* Is told where the word is that was not captured, if TRUNCATED is because of one. */
	uint64_t *missing;
};

/* COMPLETE, NO_UNWIND_INFO, or 0: there is a rule for the return address. */
enum wire_stack_end stack_end_of_rule(const struct stack_end_question *question);

/*
 * There is a rule, but it led nowhere: TRUNCATED where it needs anything outside what was captured,
 * else BAD_UNWIND_INFO.
 */
enum wire_stack_end stack_end_of_registers(const struct stack_end_question *question);

/*
 * Whether `sp` is where the stack pointer of a new process is: at argc, argv and the zero behind
 * it (psABI, "Initial Process Stack"), with the strings of argv further up. Code that runs with it
 * has no caller.
 */
bool stack_end_is_initial_stack(const struct wire_blob *stack, uint64_t stack_start, uint64_t sp);
