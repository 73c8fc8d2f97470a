/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "capture-source/lines.h"

struct lines lines_of(const struct syscap_file *file, const char *path)
{
	const struct syscap_embedded_file *embedded = syscap_file_embedded(file, path);

	return embedded ? (struct lines){ embedded->data, embedded->data + embedded->size }
			: (struct lines){ 0 };
}

bool lines_next(struct lines *lines, char *ret, size_t size)
{
	const char *end;

	if (lines->at == lines->end)
		return false;
	end = memchr(lines->at, '\n', lines->end - lines->at);
	end = end ? end : lines->end;
	snprintf(ret, size, "%.*s", (size_t)(end - lines->at) < size ? (int)(end - lines->at) : 0,
		 lines->at);
	lines->at = end < lines->end ? end + 1 : end;
	return true;
}
