/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "perf-source/context/hotspot-patterns.h"

enum { WORD = 8 };

/*
 * Code where the frame is not all there. `..`: any byte; `before` ends where the instruction
 * begins. (MacroAssembler::verified_entry, C1_MacroAssembler::build_frame and remove_frame,
 * MachEpilogNode::emit, C2SafepointPollStub.)
 */
static const struct {
	const char *before, *at;
	enum walk_where where;
	bool in_begin;
} patterns[] = {
	{ "", "89 84 24", WALK_WHERE_AT_SP, true }, /* touches the stack farther down */
	{ "", "55", WALK_WHERE_AT_SP, true },	    /* push %rbp */
	{ "55", "48 8b ec", WALK_WHERE_BEHIND_SAVED, true },
	{ "55", "48 83 ec", WALK_WHERE_BEHIND_SAVED, true },
	{ "55", "48 81 ec", WALK_WHERE_BEHIND_SAVED, true },
	{ "48 8b ec", "48 83 ec", WALK_WHERE_BEHIND_SAVED, true },
	{ "48 8b ec", "48 81 ec", WALK_WHERE_BEHIND_SAVED, true },
	{ "", "48 83 ec", WALK_WHERE_AT_SP, true }, /* sub ..,%rsp */
	{ "", "48 81 ec", WALK_WHERE_AT_SP, true },
	{ "", "48 89 6c 24", WALK_WHERE_UNSAVED, true }, /* mov %rbp,..(%rsp) */
	{ "", "48 89 ac 24", WALK_WHERE_UNSAVED, true },
	{ "", "41 81 7f", WALK_WHERE_FRAME, true }, /* a barrier: cmpl ..(%r15) */
	{ "41 81 7f .. .. .. .. ..", "0f 8", WALK_WHERE_FRAME, true }, /* j.. */
	{ "41 81 7f .. .. .. .. ..", "7", WALK_WHERE_FRAME, true },
	{ "", "c3", WALK_WHERE_AT_SP, false },		   /* ret */
	{ "", "5d", WALK_WHERE_BEHIND_SAVED, false },	   /* pop %rbp */
	{ "48 83 c4 .. 5d", "", WALK_WHERE_AT_SP, false }, /* add ..,%rsp; pop %rbp */
	{ "48 81 c4 .. .. .. .. 5d", "", WALK_WHERE_AT_SP, false },
	{ "5d", "49 3b", WALK_WHERE_AT_SP, false }, /* may it return? cmp ..(%r15),%rsp */
	{ "5d", "4d 8b", WALK_WHERE_AT_SP, false }, /* mov ..(%r15),%r10 */
	{ "5d", "85 05", WALK_WHERE_AT_SP, false }, /* test %eax,..(%rip) */
	{ "49 3b 67 ..", "0f 87", WALK_WHERE_AT_SP, false },
	{ "49 3b a7 .. .. .. ..", "0f 87", WALK_WHERE_AT_SP, false },
	{ "4d 8b 57 ..", "41 85 02", WALK_WHERE_AT_SP, false },
	{ "4d 8b 97 .. .. .. ..", "41 85 02", WALK_WHERE_AT_SP, false },
	{ "", "4c 8d 15 .. .. .. .. 4d", WALK_WHERE_AT_SP, false }, /* where it waits to return */
	{ "4c 8d 15 .. .. .. ..", "4d 89 97", WALK_WHERE_AT_SP, false },
	{ "4d 89 97 .. .. .. ..", "e9", WALK_WHERE_AT_SP, false },
};

_Static_assert(sizeof(patterns) / sizeof(*patterns) <= WALK_PATTERNS_MAX, "room for all");

static int digit_of(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

/* Reads digits of eight bytes, the first of which is the lowest, and which bits of them count. */
static int read_bytes(const char *text, uint64_t *ret, uint64_t *ret_mask)
{
	int n = 0; /* digits */

	*ret = *ret_mask = 0;
	for (; *text; text++) {
		int shift = (n / 2) * 8 + (n % 2 ? 0 : 4);

		if (*text == ' ')
			continue;
		if (*text != '.') {
			*ret |= (uint64_t)digit_of(*text) << shift;
			*ret_mask |= 15ULL << shift;
		}
		n++;
	}
	return (n + 1) / 2;
}

void hotspot_patterns_make(struct walk_pattern ret[WALK_PATTERNS_MAX])
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++, ret++) {
		int n = read_bytes(patterns[i].before, &ret->before, &ret->before_mask);

		if (n && n < WORD) {
			ret->before <<= (WORD - n) * 8;
			ret->before_mask <<= (WORD - n) * 8;
		}
		read_bytes(patterns[i].at, &ret->at, &ret->at_mask);
		ret->where = patterns[i].where;
		ret->in_begin = patterns[i].in_begin;
	}
}
