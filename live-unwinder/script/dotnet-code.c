/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/script/dotnet-code.h"
#include "live-unwinder/walk/stack-word.h"

enum {
	WORD = 8,
	VERSION = 1,
	VERSION_MASK = 7,
	CODE_SIZE = 2,
	HEADER_SIZE = 4,
	LARGE_UNIT = 16,
	FP = 5, /* rbp, as the processor counts */
};

/* UNWIND_CODE's operations. */
enum {
	PUSH_NONVOL,
	ALLOC_LARGE,
	ALLOC_SMALL,
	SET_FPREG,
	SAVE_NONVOL,
	SAVE_NONVOL_FAR,
	SAVE_XMM128 = 8,
	SAVE_XMM128_FAR,
	SET_FPREG_LARGE = 11,
};

struct unwind_info {
	const uint8_t *codes;
	uint8_t n_codes; /* units of CODE_SIZE */
	uint8_t fp, fp_offset;
};

bool dotnet_code_is_described(const struct dotnet_code *code)
{
	return code->unwind[0] & VERSION_MASK;
}

static size_t count_functions(const struct dotnet_code *code)
{
	return code->n_functions < DOTNET_FUNCTIONS_MAX ? code->n_functions : DOTNET_FUNCTIONS_MAX;
}

/* The function of a method that has an instruction, and its description. */
static bool find_function(const struct dotnet_frame *frame, uint64_t offset,
			  const struct dotnet_function **ret, struct unwind_info *ret_info)
{
	const struct dotnet_code *code = frame->code;
	const struct dotnet_function *first = &code->functions[0];
	uint64_t place = first->begin + offset - !frame->executed;
	const uint8_t *info;
	size_t i = 0, n = count_functions(code), at;

	while (i < n && (place < code->functions[i].begin || place >= code->functions[i].end))
		i++;
	if (i == n)
		return false;
	*ret = &code->functions[i];
	at = code->functions[i].unwind - first->unwind;
	if (at > DOTNET_UNWIND_MAX - HEADER_SIZE)
		return false;
	info = code->unwind + at;
	*ret_info = (struct unwind_info){ info + HEADER_SIZE, info[2], info[3] & 15, info[3] >> 4 };
	return (info[0] & VERSION_MASK) == VERSION &&
	       at + HEADER_SIZE + info[2] * CODE_SIZE <= DOTNET_UNWIND_MAX;
}

static bool pop(const struct dotnet_frame *frame, struct made_caller *state, uint64_t *ret)
{
	bool has = stack_read_word(frame->stack, frame->stack_start, state->sp, ret);

	state->sp += WORD;
	return has;
}

static uint32_t read_unit(const struct unwind_info *info, size_t i)
{
	return info->codes[i * CODE_SIZE] | info->codes[i * CODE_SIZE + 1] << 8;
}

static uint32_t read_units(const struct unwind_info *info, size_t i)
{
	return read_unit(info, i) | read_unit(info, i + 1) << 16;
}

/* How many units a code has; 0: it is none. */
static size_t count_units(uint8_t operation, uint8_t operand)
{
	switch (operation) {
	case PUSH_NONVOL:
	case ALLOC_SMALL:
	case SET_FPREG:
		return 1;
	case ALLOC_LARGE:
		return operand ? 3 : 2;
	case SAVE_NONVOL:
	case SAVE_XMM128:
		return 2;
	case SAVE_NONVOL_FAR:
	case SAVE_XMM128_FAR:
	case SET_FPREG_LARGE:
		return 3;
	default:
		return 0;
	}
}

/* Takes back what an instruction has done. */
static bool undo(const struct dotnet_frame *frame, const struct unwind_info *info, size_t i,
		 struct made_caller *state)
{
	uint8_t operation = info->codes[i * CODE_SIZE + 1] & 15,
		operand = info->codes[i * CODE_SIZE + 1] >> 4;
	uint64_t word;

	switch (operation) {
	case PUSH_NONVOL:
		if (!pop(frame, state, &word))
			return false;
		state->fp = operand == FP ? word : state->fp;
		return true;
	case ALLOC_SMALL:
		state->sp += (operand + 1) * WORD;
		return true;
	case ALLOC_LARGE:
		state->sp += operand ? read_units(info, i + 1) : read_unit(info, i + 1) * WORD;
		return true;
	case SET_FPREG:
		state->sp = state->fp - info->fp_offset * LARGE_UNIT;
		return info->fp == FP && state->fp;
	case SET_FPREG_LARGE:
		state->sp = state->fp - (uint64_t)read_units(info, i + 1) * LARGE_UNIT;
		return info->fp == FP && state->fp;
	case SAVE_NONVOL:
	case SAVE_NONVOL_FAR:
		return operand != FP; /* no compiler of .NET saves it so */
	default:
		return true;
	}
}

/* Takes back all that has been executed of a function's begin. */
static bool undo_all(const struct dotnet_frame *frame, const struct unwind_info *info,
		     uint64_t offset, struct made_caller *state)
{
	for (size_t i = 0; i < info->n_codes;) {
		size_t n = count_units(info->codes[i * CODE_SIZE + 1] & 15,
				       info->codes[i * CODE_SIZE + 1] >> 4);

		if (!n || i + n > info->n_codes)
			return false;
		if (info->codes[i * CODE_SIZE] <= offset && !undo(frame, info, i, state))
			return false;
		i += n;
	}
	return true;
}

/* What is executed from an instruction on, which may be in the end of a function. */
struct ending_walk {
	const struct dotnet_frame *frame;
	const uint8_t *at, *end;
	uint64_t pc;
};

static bool has_bytes(const struct ending_walk *walk, const uint8_t *bytes, size_t n)
{
	return (size_t)(walk->end - walk->at) >= n && !memcmp(walk->at, bytes, n);
}

static int32_t read_distance(const uint8_t *at)
{
	int32_t distance;

	memcpy(&distance, at, sizeof(distance));
	return distance;
}

/* Whether a jump leaves the method, as one to a function does whose result is returned. */
static bool leaves(const struct ending_walk *walk)
{
	enum { NEAR = 0xe9, NEAR_SIZE = 5, WIDE = 0x48, WIDE_MASK = 0xf8, JUMPS = 0xff, JUMP = 4 };
	static const uint8_t by_distance[] = { JUMPS, 0x25 };
	const struct dotnet_code *code = walk->frame->code;
	uint64_t to;

	if (walk->end - walk->at >= NEAR_SIZE && *walk->at == NEAR) {
		to = walk->pc + NEAR_SIZE + (int64_t)read_distance(walk->at + 1) -
		     walk->frame->begin;
		return to >=
		       code->functions[count_functions(code) - 1].end - code->functions[0].begin;
	}
	/* Jumps within a method are not wide (codegenxarch.cpp: rex.jmp). */
	return has_bytes(walk, by_distance, sizeof(by_distance)) ||
	       (walk->end - walk->at > 2 && (walk->at[0] & WIDE_MASK) == WIDE &&
		walk->at[1] == JUMPS && (walk->at[2] >> 3 & 7) == JUMP);
}

static void pass(struct ending_walk *walk, size_t n)
{
	walk->at += n;
	walk->pc += n;
}

/* Executes an instruction that gives a frame's memory back: add N,%rsp, or lea N(%rbp),%rsp. */
static bool give_back(struct ending_walk *walk, struct made_caller *state)
{
	static const uint8_t add_small[] = { 0x48, 0x83, 0xc4 }, add[] = { 0x48, 0x81, 0xc4 },
			     lea_small[] = { 0x48, 0x8d, 0x65 }, lea[] = { 0x48, 0x8d, 0xa5 },
			     zero_upper[] = { 0xc5, 0xf8, 0x77 };
	bool is_small = has_bytes(walk, add_small, 3) || has_bytes(walk, lea_small, 3),
	     is_add = has_bytes(walk, add_small, 3) || has_bytes(walk, add, 3);
	int64_t n;

	if (has_bytes(walk, zero_upper, sizeof(zero_upper))) {
		pass(walk, sizeof(zero_upper));
		return true;
	}
	if (!is_small && !has_bytes(walk, add, 3) && !has_bytes(walk, lea, 3))
		return false;
	if (walk->end - walk->at < 7)
		return false;
	n = is_small ? (int8_t)walk->at[3] : read_distance(walk->at + 3);
	if (is_add && n <= 0)
		return false;
	state->sp = (is_add ? state->sp : state->fp) + n;
	pass(walk, is_small ? 4 : 7);
	return true;
}

/* Executes a pop. */
static bool take_back(struct ending_walk *walk, struct made_caller *state, bool *ret_is_there)
{
	enum { POP = 0x58, REGISTERS = 7, HIGH = 0x41 };
	bool is_high = walk->end - walk->at >= 2 && *walk->at == HIGH;
	uint64_t word;

	*ret_is_there = true;
	if (walk->end - walk->at < 2 || (walk->at[is_high] & ~REGISTERS) != POP)
		return false;
	*ret_is_there = pop(walk->frame, state, &word);
	if (!*ret_is_there)
		return false;
	if (!is_high && (*walk->at & REGISTERS) == FP)
		state->fp = word;
	pass(walk, 1 + is_high);
	return true;
}

/*
 * Executes what is left of a function's end. False: its end has not begun. No other part of a
 * function pops, nor does it move the stack pointer up.
 */
static bool is_at_end(struct ending_walk *walk, struct made_caller *state)
{
	enum { RETURN = 0xc3 };
	bool is_there = true;

	while (give_back(walk, state))
		;
	while (is_there && take_back(walk, state, &is_there))
		;
	return is_there && walk->at < walk->end && (*walk->at == RETURN || leaves(walk));
}

bool dotnet_frame_leave(const struct dotnet_frame *frame, struct made_caller *ret)
{
	const struct dotnet_function *function;
	struct unwind_info info;
	uint64_t offset = frame->at.pc - frame->begin, pc;
	bool is_left = false;

	if (!find_function(frame, offset, &function, &info))
		return false;
	offset -= function->begin - frame->code->functions[0].begin;
	if (frame->executed) {
		struct ending_walk walk = {
			.frame = frame,
			.at = frame->executed->bytes,
			.end = frame->executed->bytes + frame->executed->n,
			.pc = frame->at.pc,
		};

		*ret = frame->at;
		is_left = is_at_end(&walk, ret);
	}
	if (!is_left) {
		*ret = frame->at;
		is_left = undo_all(frame, &info, offset, ret);
	}
	if (!is_left || !pop(frame, ret, &pc))
		return false;
	ret->pc = pc;
	return pc && ret->sp > frame->at.sp;
}
