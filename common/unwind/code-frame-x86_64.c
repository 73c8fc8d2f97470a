/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Infers the frames of x86-64 code (code-frame.h). Opcodes: Intel SDM, volume 2. */
#include <string.h>

#include "common/unwind/unwind-arch.h"

enum {
	WORD = 8,
	INSTRUCTIONS_MAX = 16,	   /* of an epilogue */
	ADJUSTMENT_MAX = 16 << 20, /* bytes; no frame is larger */
	REX_B = 0x41,
	PUSH = 0x50,
	POP = 0x58,
	RBP = 5,
	RET = 0xc3,
	RET_N = 0xc2,
	LEAVE = 0xc9,
};

/* The bytes that an instruction begins with, and its size. */
struct pattern {
	uint8_t bytes[5], n, size;
};

/* The frame, in bytes from the CFA down. */
struct frame_state {
	int32_t depth; /* of the stack pointer */
	int32_t saved; /* of the caller's frame pointer; 0: in its register */
	bool has_pointer;
	bool is_by_pointer; /* the CFA is relative to the frame pointer, not the stack pointer */
};

static const uint8_t *match(const struct pattern *patterns, size_t n_patterns, const uint8_t *at,
			    size_t n, size_t *ret_size)
{
	for (size_t i = 0; i < n_patterns; i++) {
		if (patterns[i].size > n || memcmp(patterns[i].bytes, at, patterns[i].n) != 0)
			continue;
		*ret_size = patterns[i].size;
		return at + patterns[i].n;
	}
	return NULL;
}

#define MATCH(patterns, at, n, ret_size)                                                           \
	match(patterns, sizeof(patterns) / sizeof((patterns)[0]), at, n, ret_size)

/* Returns the register of a push or pop; -1: another instruction. */
static int find_register(uint8_t opcode, const uint8_t *at, size_t n, size_t *ret_size)
{
	bool has_rex = n > 1 && at[0] == REX_B;

	if (n < 1 || (at[has_rex] & ~7) != opcode)
		return -1;
	*ret_size = 1 + has_rex;
	return (at[has_rex] & 7) + 8 * has_rex;
}

/* An add to, or sub from, the stack pointer. */
static bool find_adjustment(uint8_t modrm, const uint8_t *at, size_t n, size_t *ret_size,
			    int32_t *ret)
{
	const struct pattern short_one[] = { { { 0x48, 0x83, modrm }, 3, 4 } };
	const struct pattern long_one[] = { { { 0x48, 0x81, modrm }, 3, 7 } };
	const uint8_t *number = MATCH(short_one, at, n, ret_size);

	*ret = -1;
	if (number)
		*ret = (int8_t)*number;
	else if ((number = MATCH(long_one, at, n, ret_size)))
		memcpy(ret, number, sizeof(*ret));
	return *ret >= 0 && *ret <= ADJUSTMENT_MAX;
}

/* mov %rsp, %rbp in both encodings. */
static const struct pattern set_pointer[] = {
	{ { 0x48, 0x89, 0xe5 }, 3, 3 },
	{ { 0x48, 0x8b, 0xec }, 3, 3 },
};

static const struct pattern push_number[] = {
	{ { 0x6a }, 1, 2 },
	{ { 0x68 }, 1, 5 },
};

/* Applies an instruction of a prologue, and returns its size; 0: it is another one. */
static size_t do_prologue(struct frame_state *frame, const uint8_t *at, size_t n)
{
	static const struct pattern without_effect[] = {
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, 4 }, /* endbr64 */
		{ { 0x90 }, 1, 1 },
		{ { 0x66, 0x90 }, 2, 2 },
		{ { 0x0f, 0x1f, 0x00 }, 3, 3 },
		{ { 0x0f, 0x1f, 0x40 }, 3, 4 },
		{ { 0x0f, 0x1f, 0x44, 0x00 }, 4, 5 },
		{ { 0x89, 0x84, 0x24 }, 3, 7 }, /* Java's stack probe: mov %eax, N(%rsp) */
	};
	size_t size;
	int32_t number;
	int which = find_register(PUSH, at, n, &size);

	if (which >= 0) {
		frame->depth += WORD;
		if (which == RBP && !frame->has_pointer)
			frame->saved = frame->depth;
		return size;
	}
	if (MATCH(push_number, at, n, &size)) {
		frame->depth += WORD;
		return size;
	}
	if (find_adjustment(0xec, at, n, &size, &number)) {
		frame->depth += number;
		return size;
	}
	if (MATCH(set_pointer, at, n, &size)) {
		frame->has_pointer = frame->saved == frame->depth;
		return frame->has_pointer ? size : 0;
	}
	return MATCH(without_effect, at, n, &size) ? size : 0;
}

static bool is_return(const uint8_t *at, size_t n)
{
	return (n >= 1 && (*at == RET || *at == RET_N)) ||
	       (n >= 2 && (*at == 0xf3 || *at == 0xf2) && at[1] == RET);
}

/* The same for an epilogue; `depth` counts up from the stack pointer at its start. */
static size_t do_epilogue(struct frame_state *frame, const uint8_t *at, size_t n)
{
	static const struct pattern without_effect[] = {
		{ { 0xc5, 0xf8, 0x77 }, 3, 3 }, /* vzeroupper */
		{ { 0x49, 0x3b, 0x67 }, 3, 4 }, /* Java's safepoint check: cmp N(%r15), %rsp */
		{ { 0x49, 0x3b, 0xa7 }, 3, 7 }, /* with an N of 32 bits */
		{ { 0x0f, 0x87 }, 2, 6 },	/* and: ja */
		{ { 0x41, 0x85, 0x02 }, 3, 3 }, /* or: test %eax, (%r10) */
	};
	static const struct pattern from_pointer[] = {
		{ { 0x48, 0x89, 0xec }, 3, 3 }, /* mov %rbp, %rsp */
		{ { 0x48, 0x8b, 0xe5 }, 3, 3 },
	};
	size_t size;
	int32_t number;
	int which = find_register(POP, at, n, &size);

	if (which >= 0) {
		if (which == RBP)
			frame->saved = frame->depth + 1; /* as 0 means: not popped */
		frame->depth += WORD;
		return size;
	}
	if (find_adjustment(0xc4, at, n, &size, &number)) {
		frame->depth += number;
		return size;
	}
	if (n >= 1 && *at == LEAVE) {
		*frame = (struct frame_state){ .depth = WORD, .saved = 1, .is_by_pointer = true };
		return 1;
	}
	if (!frame->saved && MATCH(from_pointer, at, n, &size)) {
		*frame = (struct frame_state){ .is_by_pointer = true };
		return size;
	}
	return MATCH(without_effect, at, n, &size) ? size : 0;
}

static struct unwind_rule rule_of(const struct frame_state *frame)
{
	return (struct unwind_rule){
		.cfa = frame->is_by_pointer ? UNWIND_CFA_FP : UNWIND_CFA_SP,
		.cfa_offset = frame->depth,
		.return_address = UNWIND_VALUE_AT_CFA,
		.return_address_offset = -WORD,
		.fp = frame->saved ? UNWIND_VALUE_AT_CFA : UNWIND_VALUE_SAME,
		.fp_offset = -frame->saved,
		.flags = UNWIND_FLAG_INFERRED,
	};
}

/* The frame before an epilogue, from its state at the return. */
static struct frame_state frame_before(const struct frame_state *at_return)
{
	int32_t depth = at_return->depth + WORD;

	return (struct frame_state){
		.depth = depth,
		.saved = at_return->saved ? depth - (at_return->saved - 1) : 0,
		.is_by_pointer = at_return->is_by_pointer,
	};
}

/*
 * If known instructions lead straight to a return, the frame is certain: the return takes its
 * address from where the stack pointer will be. A branch on the way does not move it.
 */
static bool find_epilogue(const struct code_place *place, struct frame_state *ret)
{
	struct frame_state above = { 0 };
	size_t at = 0;

	for (int i = 0; i < INSTRUCTIONS_MAX; i++) {
		size_t size;

		if (is_return(place->at + at, place->n_at - at)) {
			*ret = frame_before(&above);
			return true;
		}
		size = do_epilogue(&above, place->at + at, place->n_at - at);
		if (!size)
			return false;
		at += size;
	}
	return false;
}

/* The offset after the setup of a frame pointer; the number of bytes: there is none. */
static size_t find_setup(const struct code_place *place, size_t from)
{
	size_t size;

	for (size_t at = from; at + 1 < place->n_begin; at++)
		if (place->begin[at] == (PUSH | RBP) &&
		    MATCH(set_pointer, place->begin + at + 1, place->n_begin - at - 1, &size))
			return at + 1 + size;
	return place->n_begin;
}

enum code_frame code_frame_x86_64(const struct code_place *place, struct unwind_rule *ret)
{
	struct frame_state frame = { .depth = WORD };
	size_t at = 0, size = 1, setup;

	if (place->is_exact && find_epilogue(place, &frame)) {
		*ret = rule_of(&frame);
		return CODE_FRAME_RULE;
	}
	while (size && at < place->offset && at < place->n_begin) {
		size = do_prologue(&frame, place->begin + at, place->n_begin - at);
		at += size;
	}
	if (at > place->offset || frame.depth < WORD)
		return CODE_FRAME_UNKNOWN; /* decoded wrongly */
	if (at == place->offset && place->is_exact) {
		*ret = rule_of(&frame);
		return CODE_FRAME_RULE;
	}
	if (frame.has_pointer)
		return CODE_FRAME_POINTER;
	setup = find_setup(place, at);
	if (setup < place->n_begin)
		return place->offset >= setup ? CODE_FRAME_POINTER : CODE_FRAME_NONE;
	return place->size <= CODE_FRAME_FUNCTION_MAX ? CODE_FRAME_NONE : CODE_FRAME_UNKNOWN;
}

size_t code_frame_sizes_x86_64(const uint8_t *code, size_t n, uint32_t *ret, size_t n_max)
{
	const struct code_place place = { .begin = code, .n_begin = n };
	size_t n_found = 0;

	for (size_t at = find_setup(&place, 0); at < n && n_found < n_max;
	     at = find_setup(&place, at)) {
		struct frame_state frame = { .has_pointer = true };
		size_t size;

		while (frame.depth <= ADJUSTMENT_MAX &&
		       (size = do_prologue(&frame, code + at, n - at)))
			at += size;
		ret[n_found++] = frame.depth;
	}
	return n_found;
}
