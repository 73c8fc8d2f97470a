/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses a line of a file of unwind rules (docs/stackpipe-unwind-rules.5.scd). */
#pragma once

#include "live-unwinder/rules/user-rules.h"

enum user_rule_text {
	USER_RULE_TEXT_BLANK, /* empty, or a comment */
	USER_RULE_TEXT_READ,  /* a rule */
	USER_RULE_TEXT_WRONG,
};

/*
 * Reads the line in [at, end), without its newline. The rule's id is stored in the line, over its
 * digits. `ret_wrong` is set to a literal.
 */
enum user_rule_text user_rule_text_parse(const struct unwind_arch *arch, char *at, char *end,
					 struct user_rule *ret, const char **ret_wrong);
