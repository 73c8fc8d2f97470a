/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/debuginfod/debuginfod-option.h"

int debuginfod_mode_parse(const char *text, enum debuginfod_mode *ret)
{
	static const char *const names[] = {
		[DEBUGINFOD_OFF] = "off",
		[DEBUGINFOD_CACHE] = "cache",
		[DEBUGINFOD_ON] = "on",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]))
			continue;
		*ret = i;
		return 0;
	}
	return -EINVAL;
}

char *debuginfod_take_urls(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	char *taken = urls && urls[strspn(urls, " ")] ? strdup(urls) : NULL;

	unsetenv("DEBUGINFOD_URLS");
	return taken;
}
