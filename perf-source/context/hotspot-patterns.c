/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "perf-source/context/hotspot-patterns.h"

enum { WORD = 8 };

/*
 * Code where the frame is not all there. `..`: any byte; `before` ends where the instruction
 * begins. (MacroAssembler::verified_entry, C1_MacroAssembler::build_frame and remove_frame,
 * MachEpilogNode::emit, reserved_stack_check.) What no pattern tells is told by the alignment of
 * the stack (read-callers.h).
 */
static const struct {
	const char *before, *at;
	enum walk_where where;
	enum walk_part part;
} patterns[] = {
	{ "", "89 84 24 .. .. .. ff", WALK_WHERE_AT_SP,
	  WALK_ANYWHERE },			       /* touches the stack below */
	{ "", "55", WALK_WHERE_AT_SP, WALK_ANYWHERE }, /* push %rbp */
	{ "55", "48 8b ec", WALK_WHERE_BEHIND_SAVED, WALK_ANYWHERE },
	{ "55", "48 83 ec", WALK_WHERE_BEHIND_SAVED, WALK_ANYWHERE },
	{ "55", "48 81 ec", WALK_WHERE_BEHIND_SAVED, WALK_ANYWHERE },
	{ "55 48 8b ec", "48 83 ec", WALK_WHERE_BEHIND_SAVED, WALK_ANYWHERE },
	{ "55 48 8b ec", "48 81 ec", WALK_WHERE_BEHIND_SAVED, WALK_ANYWHERE },
	{ "", "48 83 ec", WALK_WHERE_AT_SP, WALK_IN_BEGIN }, /* sub ..,%rsp */
	{ "", "48 81 ec", WALK_WHERE_AT_SP, WALK_IN_BEGIN },
	{ "", "48 89 6c 24", WALK_WHERE_UNSAVED, WALK_IN_BEGIN }, /* mov %rbp,..(%rsp) */
	{ "", "48 89 ac 24", WALK_WHERE_UNSAVED, WALK_IN_BEGIN },
	{ "", "41 81 7f", WALK_WHERE_FRAME, WALK_IN_BEGIN }, /* a barrier: cmpl ..(%r15) */
	{ "41 81 7f .. .. .. .. ..", "0f 8", WALK_WHERE_FRAME, WALK_IN_BEGIN }, /* j.. */
	{ "41 81 7f .. .. .. .. ..", "7", WALK_WHERE_FRAME, WALK_IN_BEGIN },
	{ "", "c3", WALK_WHERE_AT_SP, WALK_BEHIND },		 /* ret */
	{ "", "5d", WALK_WHERE_BEHIND_SAVED, WALK_BEHIND },	 /* pop %rbp */
	{ "48 83 c4 .. 5d", "", WALK_WHERE_AT_SP, WALK_BEHIND }, /* add ..,%rsp; pop %rbp */
	{ "48 81 c4 .. .. .. .. 5d", "", WALK_WHERE_AT_SP, WALK_BEHIND },
	{ "", "49 3b 67", WALK_WHERE_AT_SP, WALK_BEHIND }, /* may it return? cmp ..(%r15),%rsp */
	{ "", "49 3b a7", WALK_WHERE_AT_SP, WALK_BEHIND },
	{ "49 3b 67 ..", "", WALK_WHERE_AT_SP, WALK_BEHIND }, /* j.. */
	{ "49 3b a7 .. .. .. ..", "", WALK_WHERE_AT_SP, WALK_BEHIND },
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
		ret->part = patterns[i].part;
	}
}
