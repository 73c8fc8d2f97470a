/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a file that is read as a whole, and more than once: mapped if nobody else can change
 * it, else a copy. What is on standard input is copied, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CAPTURE_FILE_COPIED_MAX ((size_t)4 << 30)

struct capture_file {
	const char *data;
	size_t size;
	bool is_mapped;
};

/* "-": standard input. 0 or -errno; -EFBIG: it is too large to be copied. */
int capture_file_open(struct capture_file *file, const char *path);
void capture_file_close(struct capture_file *file);
