/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "formats/capture.h"

static const struct format *const formats[] = {
	&format_syscap, &format_folded,	    &format_html,    &format_pprof,
	&format_otlp,	&format_speedscope, &format_firefox,
};

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const struct format *format_of_path(const char *path)
{
	size_t size = strlen(path);

	for (size_t i = 0; i < N_FORMATS; i++) {
		size_t ending = strlen(formats[i]->name);

		if (size > ending + 1 && path[size - ending - 1] == '.' &&
		    !strcmp(path + size - ending, formats[i]->name))
			return formats[i];
	}
	return NULL;
}
