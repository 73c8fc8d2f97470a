/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/stage/stage.h"
#include "stackpipe/regex-option.h"

regex_t *regex_option_compile(const char *text, const struct argp_state *state)
{
	regex_t *regex = calloc(1, sizeof(*regex));
	char message[256];
	int error = regex ? regcomp(regex, text, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;

	if (!error)
		return regex;
	regerror(error, regex, message, sizeof(message));
	stage_usage_error(state, "invalid regular expression '%s': %s", text, message);
}

void regex_option_free(regex_t *regex)
{
	if (regex)
		regfree(regex);
	free(regex);
}

bool regex_option_matches(const regex_t *regex, const char *text)
{
	return !regex || regexec(regex, text, 0, NULL, 0) == 0;
}
