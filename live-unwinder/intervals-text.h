/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of a file of synthetic unwind intervals: see docs/stackpipe-intervals.5.scd. */
#pragma once

#include "live-unwinder/intervals.h"

enum interval_text {
	INTERVAL_TEXT_BLANK, /* nothing, or a comment */
	INTERVAL_TEXT_READ,  /* an interval */
	INTERVAL_TEXT_WRONG,
};

/*
 * Reads the line from `at` up to `end`, where its newline or the text's end is. The interval's id
 * is in the line, in place of its digits. What is wrong is a literal.
 */
enum interval_text interval_text_parse(const struct unwind_arch *arch, char *at, char *end,
				       struct user_rule *ret, const char **ret_wrong);
