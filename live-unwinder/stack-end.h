/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a stack ends at its last frame. libdwfl returns 0 both for an undefined return address (a
 * true outermost frame) and for a captured stack that ran out; the frame's own rule decides.
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
	uint64_t address;	/* looked up: one less for a return address */
	uint64_t stack_start;	/* first captured address */
	struct wire_blob stack; /* captured bytes */
	/* The last frame's, by DWARF number; only for stack_end_of_registers(). */
	Dwarf_Word registers[ARCH_REGISTERS_MAX];
	bool has_register[ARCH_REGISTERS_MAX];
	/* Set to the address of the word that was not captured, if that caused TRUNCATED. */
	uint64_t *missing;
};

/* COMPLETE, NO_UNWIND_INFO, or 0: the return address has a rule. */
enum wire_stack_end stack_end_of_rule(const struct stack_end_question *question);

/* If a rule led nowhere: TRUNCATED if it needs uncaptured bytes, else BAD_UNWIND_INFO. */
enum wire_stack_end stack_end_of_registers(const struct stack_end_question *question);

/*
 * Whether `sp` is a new process's stack pointer: at argc, argv and their final zero (psABI,
 * "Initial Process Stack"), with argv's strings further up. Code at this `sp` has no caller.
 */
bool stack_end_is_initial_stack(const struct wire_blob *stack, uint64_t stack_start, uint64_t sp);
