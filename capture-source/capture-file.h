/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a file that is read more than once: mapped if no other user can change it,
 * otherwise copied. Standard input is copied too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/file/map-pass.h"

#define CAPTURE_FILE_COPIED_MAX ((size_t)4 << 30)

struct capture_file {
	const char *data;
	size_t size;
	bool is_mapped;
};

/* "-" is standard input. 0 or -errno; -EFBIG: too large to copy. */
int capture_file_open(struct capture_file *file, const char *path);
void capture_file_close(struct capture_file *file);

/* A reader of the file in its order has come to an offset. */
void capture_file_come_to(const struct capture_file *file, struct map_pass *pass, size_t at);
