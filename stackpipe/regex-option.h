/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that are extended regular expressions (regex(7)) of names. */
#pragma once

#include <argp.h>
#include <regex.h>
#include <stdbool.h>

/* The caller frees it. What is no regular expression, or too large, is a usage error. */
regex_t *regex_option_compile(const char *text, const struct argp_state *state);
void regex_option_free(regex_t *regex);

/* NULL matches all. */
bool regex_option_matches(const regex_t *regex, const char *text);
