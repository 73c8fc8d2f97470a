/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of a file of unwind rules: see docs/stackpipe-unwind-rules.5.scd. */
#pragma once

#include "live-unwinder/user-rules.h"

enum user_rule_text {
	USER_RULE_TEXT_BLANK, /* nothing, or a comment */
	USER_RULE_TEXT_READ,  /* a rule */
	USER_RULE_TEXT_WRONG,
};

/*
 * Reads the line from `at` up to `end`, where its newline or the text's end is. The rule's id
 * is in the line, in place of its digits. What is wrong is a literal.
 */
enum user_rule_text user_rule_text_parse(const struct unwind_arch *arch, char *at, char *end,
					 struct user_rule *ret, const char **ret_wrong);
