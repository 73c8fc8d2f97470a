/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/base/text.h"
#include "formats/format.h"

#define ENTRY(symbol, name) { name, "." name, &format_##symbol },
static const struct {
	const char *name, *ending;
	const struct format *format;
} formats[] = { FORMATS(ENTRY, ENTRY, ENTRY) };

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return formats[i].format;
	return NULL;
}

const struct format *format_of_path(const char *path)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (text_has_ending(path, formats[i].ending))
			return formats[i].format;
	return NULL;
}

const char *format_name(const struct format *format)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (formats[i].format == format)
			return formats[i].name;
	return NULL;
}
