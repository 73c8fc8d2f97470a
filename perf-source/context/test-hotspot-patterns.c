/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the frame is at each instruction that makes it or leaves it, as HotSpot's compilers do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "perf-source/context/hotspot-patterns.h"

enum { WORD = 8 };

/* An instruction, and where the frame is before it. */
struct step {
	const char *bytes;
	size_t size;
	enum walk_where where;
};

#define STEP(bytes, where)                                                                         \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, where                                                    \
	}

static struct walk_pattern patterns[WALK_PATTERNS_MAX];

/* As the program in the kernel does (read-callers.h). */
static enum walk_where find(const uint8_t *at, enum walk_part part)
{
	uint64_t before, behind;

	memcpy(&before, at - sizeof(before), sizeof(before));
	memcpy(&behind, at, sizeof(behind));
	for (size_t i = 0; i < WALK_PATTERNS_MAX; i++) {
		const struct walk_pattern *pattern = &patterns[i];

		if (pattern->where && (pattern->part == part || pattern->part == WALK_ANYWHERE) &&
		    (before & pattern->before_mask) == pattern->before &&
		    (behind & pattern->at_mask) == pattern->at)
			return pattern->where;
	}
	return part == WALK_BEHIND ? WALK_WHERE_FRAME : WALK_WHERE_UNKNOWN;
}

static void check(const struct step *steps, size_t n, enum walk_part part)
{
	uint8_t code[256] = { 0 };
	size_t used = WORD;

	for (size_t i = 0; i < n; i++) {
		memcpy(code + used, steps[i].bytes, steps[i].size);
		used += steps[i].size;
	}
	used = WORD;
	for (size_t i = 0; i < n; i++) {
		if (find(code + used, part) != steps[i].where)
			fail_msg("step %zu", i);
		used += steps[i].size;
	}
}

#define CHECK(steps, part) check(steps, sizeof(steps) / sizeof(*(steps)), part)

static void test_frames_are_made(void **state)
{
	static const struct step pushed[] = {
		STEP("\x89\x84\x24\x00\xc0\xfe\xff",
		     WALK_WHERE_AT_SP),				   /* mov %eax,-0x14000(%rsp) */
		STEP("\x55", WALK_WHERE_AT_SP),			   /* push %rbp */
		STEP("\x48\x83\xec\x20", WALK_WHERE_BEHIND_SAVED), /* sub $0x20,%rsp */
		STEP("\x41\x81\x7f\x20\x01\x00\x00\x00", WALK_WHERE_FRAME), /* cmpl $1,0x20(%r15) */
		STEP("\x0f\x85\x10\x00\x00\x00", WALK_WHERE_FRAME),	    /* jne */
	};
	static const struct step with_pointer[] = {
		STEP("\x55", WALK_WHERE_AT_SP),
		STEP("\x48\x8b\xec", WALK_WHERE_BEHIND_SAVED), /* mov %rsp,%rbp */
		STEP("\x48\x81\xec\x00\x01\x00\x00", WALK_WHERE_BEHIND_SAVED),
	};
	static const struct step at_once[] = {
		STEP("\x48\x81\xec\x18\x00\x00\x00", WALK_WHERE_AT_SP), /* sub $0x18,%rsp */
		STEP("\x48\x89\x6c\x24\x10", WALK_WHERE_UNSAVED),	/* mov %rbp,0x10(%rsp) */
	};

	CHECK(pushed, WALK_IN_BEGIN);
	CHECK(with_pointer, WALK_IN_BEGIN);
	CHECK(at_once, WALK_IN_BEGIN);
}

static void test_frames_are_left(void **state)
{
	static const struct step polled[] = {
		STEP("\x48\x8b\xc6", WALK_WHERE_FRAME),			/* the body */
		STEP("\x48\x83\xc4\x20", WALK_WHERE_FRAME),		/* add $0x20,%rsp */
		STEP("\x5d", WALK_WHERE_BEHIND_SAVED),			/* pop %rbp */
		STEP("\x49\x3b\xa7\x50\x03\x00\x00", WALK_WHERE_AT_SP), /* cmp 0x350(%r15),%rsp */
		STEP("\x0f\x87\x10\x00\x00\x00", WALK_WHERE_AT_SP),	/* ja */
		STEP("\xc3", WALK_WHERE_AT_SP),				/* ret */
	};
	static const struct step reserved[] = {
		STEP("\x48\x81\xc4\x00\x01\x00\x00", WALK_WHERE_FRAME),
		STEP("\x5d", WALK_WHERE_BEHIND_SAVED), STEP("\x49\x3b\x67\x50", WALK_WHERE_AT_SP),
		STEP("\x0f\x82\x10\x00\x00\x00", WALK_WHERE_AT_SP), /* jb */
	};
	static const struct step page[] = {
		STEP("\x48\x83\xc4\x20", WALK_WHERE_FRAME),
		STEP("\x5d", WALK_WHERE_BEHIND_SAVED),
		STEP("\x4d\x8b\x97\x08\x01\x00\x00", WALK_WHERE_AT_SP), /* mov 0x108(%r15),%r10 */
		/* Loops have this, too, with a frame: the alignment tells. */
		STEP("\x41\x85\x02", WALK_WHERE_FRAME), /* test %eax,(%r10) */
		STEP("\xc3", WALK_WHERE_AT_SP),
	};

	CHECK(polled, WALK_BEHIND);
	CHECK(reserved, WALK_BEHIND);
	CHECK(page, WALK_BEHIND);
}

/* C1 has it behind what it has compiled for callers. */
static void test_code_that_goes_on_in_a_loop_makes_its_frame_later(void **state)
{
	static const struct step osr[] = {
		STEP("\xc3", WALK_WHERE_AT_SP),
		STEP("\x89\x84\x24\x00\xc0\xfe\xff", WALK_WHERE_AT_SP),
		STEP("\x55", WALK_WHERE_AT_SP),
		STEP("\x48\x83\xec\x30", WALK_WHERE_BEHIND_SAVED),
	};

	CHECK(osr, WALK_BEHIND);
}

static void test_code_that_looks_alike_has_a_frame(void **state)
{
	static const struct step body[] = {
		STEP("\xc6\x40\x10\x5d", WALK_WHERE_FRAME),		/* movb $0x5d,0x10(%rax) */
		STEP("\x4d\x8b\x57\x08", WALK_WHERE_FRAME),		/* mov 0x8(%r15),%r10 */
		STEP("\x48\x83\xec\x10", WALK_WHERE_FRAME),		/* the alignment tells */
		STEP("\x89\x84\x24\x10\x00\x00\x00", WALK_WHERE_FRAME), /* mov %eax,0x10(%rsp) */
		STEP("\x0f\x87\x10\x00\x00\x00", WALK_WHERE_FRAME),
	};

	CHECK(body, WALK_BEHIND);
}

static int set_up(void **state)
{
	memset(patterns, 0, sizeof(patterns));
	hotspot_patterns_make(patterns);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_are_made),
		cmocka_unit_test(test_frames_are_left),
		cmocka_unit_test(test_code_that_goes_on_in_a_loop_makes_its_frame_later),
		cmocka_unit_test(test_code_that_looks_alike_has_a_frame),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
