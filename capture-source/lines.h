/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a file that is embedded in a capture. */
#pragma once

#include "capture-source/syscap-file.h"

struct lines {
	const char *at, *end;
};

/* All lines; none if the capture has no such file. */
struct lines lines_of(const struct syscap_file *file, const char *path);

/* The next line as a string; an oversized one becomes empty. false: there is none. */
bool lines_next(struct lines *lines, char *ret, size_t size);
