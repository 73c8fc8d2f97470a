/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/unwind/instruction-x86_64.h"
#include "live-unwinder/script/beam-code.h"

enum {
	WORD = 8,
	INSTRUCTIONS_MAX = 1024, /* of all ways */
	WAYS_MAX = 16,		 /* that are tried, one after the other */
	RSP = 4,
	RBP = 5,
	R12 = 12,
	R13 = 13,
	RBX = 3,
	REX_R = 4,
	REX_X = 2,
	REX_B = 1,
	PUSH = 0x50,
	POP = 0x58,
	POP_MEMORY = 0x8f,
	ADD_SUB_8 = 0x83,
	ADD_SUB_32 = 0x81,
	MOV_TO = 0x89,
	MOV_FROM = 0x8b,
	LEA = 0x8d,
	RET = 0xc3,
	CALL = 0xe8,
	JUMP = 0xe9,
	JUMP_SHORT = 0xeb,
	GROUP_5 = 0xff, /* with a number: 2 a call, 4 a jump, 6 a push */
	TWO_BYTES = 0x0f,
};

/* Where one way through the code is. */
struct beam_way {
	size_t at; /* offset in the code */
	bool knows_sp, is_own;
	uint64_t sp, kept; /* the process's; and what it was when C was called; 0: before */
	uint64_t begin;	   /* what it was where the way begins; 0: not known yet */
};

struct beam_search {
	const struct beam_code *code;
	const struct beam_stack *stack;
	struct beam_way ways[WAYS_MAX];
	size_t n_ways;
	size_t n_instructions;
};

/* An instruction, and the registers that its ModR/M byte says. */
struct beam_instruction {
	struct x86_instruction parts;
	const uint8_t *bytes;
	uint8_t opcode;
	uint8_t mode, reg, rm; /* mode 3: `rm` is a register, else what it has is an address */
	uint8_t index;	       /* of an address; RSP: it has none */
	int32_t displacement;
};

static int64_t number_at(const uint8_t *bytes, size_t size)
{
	int32_t number = 0;

	if (size == sizeof(int8_t))
		return (int8_t)*bytes;
	memcpy(&number, bytes, size == sizeof(number) ? sizeof(number) : 0);
	return number;
}

static void decode_modrm(struct beam_instruction *instruction)
{
	const struct x86_instruction *parts = &instruction->parts;
	uint8_t modrm, sib;

	instruction->index = RSP;
	if (!parts->modrm)
		return;
	modrm = instruction->bytes[parts->modrm];
	instruction->mode = modrm >> 6;
	instruction->reg = (modrm >> 3 & 7) | (parts->rex & REX_R ? 8 : 0);
	instruction->rm = (modrm & 7) | (parts->rex & REX_B ? 8 : 0);
	instruction->displacement =
		number_at(instruction->bytes + parts->displacement, parts->displacement_size);
	if (instruction->mode == 3 || (modrm & 7) != RSP)
		return;
	sib = instruction->bytes[parts->modrm + 1];
	instruction->rm = (sib & 7) | (parts->rex & REX_B ? 8 : 0);
	instruction->index = (sib >> 3 & 7) | (parts->rex & REX_X ? 8 : 0);
}

static bool decode(const struct beam_code *code, size_t at, struct beam_instruction *ret)
{
	*ret = (struct beam_instruction){ .bytes = code->bytes + at };
	if (!instruction_x86_64(ret->bytes, code->n - at, &ret->parts))
		return false;
	ret->opcode = ret->bytes[ret->parts.opcode];
	decode_modrm(ret);
	return true;
}

/* The number that an instruction ends with. */
static int64_t last_number(const struct beam_instruction *instruction, size_t size)
{
	return number_at(instruction->bytes + instruction->parts.size - size, size);
}

/* Changes the stack pointer by a number; false: the instruction does something else with it. */
static bool adjust(struct beam_way *way, const struct beam_instruction *instruction)
{
	int64_t number = last_number(instruction, instruction->opcode == ADD_SUB_8 ? 1 : 4);

	switch (instruction->reg & 7) {
	case 0: /* add */
		way->sp += number;
		return true;
	case 5: /* sub */
		way->sp -= number;
		return true;
	default:
		return (instruction->reg & 7) == 7; /* cmp */
	}
}

/* Goes back from C to the stack of the process, which was kept in a place. */
static bool come_back(struct beam_way *way, uint64_t kept)
{
	way->sp = way->kept ? way->kept : kept;
	way->begin = way->begin ? way->begin : way->sp;
	way->knows_sp = way->sp;
	way->is_own = true;
	return way->knows_sp;
}

/* Something is moved to the stack pointer. */
static bool set_sp(const struct beam_search *search, struct beam_way *way,
		   const struct beam_instruction *instruction)
{
	uint8_t from = instruction->opcode == MOV_TO ? instruction->reg : instruction->rm;
	bool is_register = instruction->mode == 3;

	if (instruction->opcode == LEA && instruction->rm == RSP && instruction->index == RSP) {
		way->sp += instruction->displacement;
		return true;
	}
	if (instruction->opcode == LEA && instruction->rm == RBX) { /* to call C */
		way->kept = way->is_own ? way->sp : way->kept;
		way->is_own = false;
		return true;
	}
	if (instruction->opcode == LEA)
		return false;
	if (is_register)
		return from == RBP && come_back(way, search->stack->saved);
	return instruction->opcode == MOV_FROM && from == R13 &&
	       instruction->displacement == search->code->top &&
	       come_back(way, search->stack->noted);
}

static bool sets_sp(const struct beam_instruction *instruction)
{
	switch (instruction->opcode) {
	case MOV_TO:
		return instruction->mode == 3 && instruction->rm == RSP;
	case MOV_FROM:
	case LEA:
		return instruction->reg == RSP;
	default:
		return false;
	}
}

/* Applies what an instruction does to the stack pointer; false: nobody knows what. */
static bool apply(const struct beam_search *search, struct beam_way *way,
		  const struct beam_instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (opcode == TWO_BYTES)
		return true;
	if ((opcode & ~7) == PUSH || (opcode == GROUP_5 && (instruction->reg & 7) == 6))
		way->sp -= WORD;
	if ((opcode & ~7) == POP || opcode == POP_MEMORY)
		way->sp += WORD;
	if ((opcode & ~7) == POP && !(instruction->parts.rex & REX_B) && (opcode & 7) == RSP)
		return false;
	if ((opcode == ADD_SUB_8 || opcode == ADD_SUB_32) && instruction->mode == 3 &&
	    instruction->rm == RSP)
		return adjust(way, instruction);
	if (sets_sp(instruction))
		return set_sp(search, way, instruction);
	return true;
}

/* The target of a jump or a branch with a distance, as an offset in the code. */
static int64_t target_of(const struct beam_instruction *instruction, size_t at, size_t size)
{
	return (int64_t)at + instruction->parts.size + last_number(instruction, size);
}

/* Whether a jump to an offset leaves the function, or begins it again: its frame is removed. */
static bool leaves(const struct beam_code *code, int64_t target)
{
	uint64_t address = code->address + target;

	return code->to &&
	       (address < code->from || address >= code->to || address == code->from + code->head);
}

/* Adds a way, which is tried later. */
static void add_way(struct beam_search *search, const struct beam_way *way, int64_t at)
{
	if (at < 0 || (size_t)at >= search->code->n || search->n_ways == WAYS_MAX)
		return;
	search->ways[search->n_ways] = *way;
	search->ways[search->n_ways++].at = at;
}

enum beam_step { STEP_ON, STEP_RETURNS, STEP_LOST };

static enum beam_step jump(struct beam_search *search, struct beam_way *way, int64_t target)
{
	if (leaves(search->code, target))
		return STEP_RETURNS;
	if (target < 0 || (size_t)target >= search->code->n)
		return STEP_LOST;
	way->at = target;
	return STEP_ON;
}

/*
 * A jump to where memory or a register says calls another function instead of returning, but for
 * one to where a table of the function itself says.
 */
static enum beam_step jump_indirectly(const struct beam_instruction *instruction)
{
	return instruction->mode == 3 || instruction->index == RSP || instruction->index == R12
		       ? STEP_RETURNS
		       : STEP_LOST;
}

/* Code goes on behind a call that never returns only as it seems: with that of the next function.
 */
static bool is_behind_function(const struct beam_code *code, size_t at)
{
	return code->to && code->address + at >= code->to;
}

static bool is_far_branch(const struct beam_instruction *instruction)
{
	return instruction->opcode == TWO_BYTES &&
	       (instruction->bytes[instruction->parts.opcode + 1] & 0xf0) == 0x80;
}

static enum beam_step step(struct beam_search *search, struct beam_way *way)
{
	struct beam_instruction instruction;
	size_t at = way->at;

	if (is_behind_function(search->code, at) || !decode(search->code, at, &instruction))
		return STEP_LOST;
	way->at += instruction.parts.size;
	if (instruction.parts.is_vector)
		return STEP_ON;
	if (instruction.opcode == RET)
		return STEP_RETURNS;
	if (instruction.opcode == JUMP || instruction.opcode == JUMP_SHORT)
		return jump(search, way,
			    target_of(&instruction, at, instruction.opcode == JUMP ? 4 : 1));
	if (instruction.opcode == GROUP_5 && (instruction.reg & 7) == 4)
		return jump_indirectly(&instruction);
	if ((instruction.opcode & 0xf0) == 0x70)
		add_way(search, way, target_of(&instruction, at, 1));
	if (is_far_branch(&instruction))
		add_way(search, way, target_of(&instruction, at, 4));
	return apply(search, way, &instruction) ? STEP_ON : STEP_LOST;
}

/* Follows one way to a return. */
static bool follow(struct beam_search *search, struct beam_way *way)
{
	enum beam_step outcome = STEP_ON;

	while (outcome == STEP_ON && search->n_instructions++ < INSTRUCTIONS_MAX)
		outcome = step(search, way);
	return outcome == STEP_RETURNS && way->is_own && way->knows_sp;
}

/*
 * All ways of a function that lead to a return must lead to the same: a place in the code has one
 * size of its frame. A way behind a call that never returns is none of the code's. Code that
 * functions share has no known end, and the nearest return is its own.
 */
bool beam_code_find_return(const struct beam_code *code, const struct beam_stack *stack,
			   uint64_t *ret_sp, uint64_t *ret)
{
	struct beam_search search = { .code = code, .stack = stack };
	const struct beam_way first = { .knows_sp = stack->is_own,
					.is_own = stack->is_own,
					.sp = stack->is_own ? stack->sp : 0,
					.begin = stack->is_own ? stack->sp : 0 };
	bool is_found = false;

	add_way(&search, &first, code->at);
	while (search.n_ways) {
		struct beam_way way = search.ways[--search.n_ways];

		if (!follow(&search, &way))
			continue;
		if (is_found && (way.sp != *ret || way.begin != *ret_sp))
			return false;
		*ret_sp = way.begin;
		*ret = way.sp;
		is_found = true;
		if (!code->to)
			break;
	}
	return is_found;
}
