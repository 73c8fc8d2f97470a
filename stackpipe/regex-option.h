/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options whose value is an extended regular expression (regex(7)) for names. */
#pragma once

#include <argp.h>
#include <regex.h>
#include <stdbool.h>

/* The caller frees it. An invalid or too large expression is a usage error. */
regex_t *regex_option_compile(const char *text, const struct argp_state *state);
void regex_option_free(regex_t *regex);

/* NULL matches everything. */
bool regex_option_matches(const regex_t *regex, const char *text);
