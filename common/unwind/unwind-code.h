/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of a file, for the few places where its unwind information says less than its
 * instructions. It is asked for in the order of the file, and read a window at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/elf-image.h"

/* All zero: there is none. */
struct unwind_code {
	bool has_fd;
	int fd;	       /* of the file, owned */
	uint8_t *file; /* its bytes instead, owned, of one in memory */
	size_t size;
	uint8_t window[4096];
	uint64_t window_at; /* its offset in the file */
	size_t window_size;
};

/* 0, -ENOMEM, or -errno of the descriptor, which is another one than the image's. */
int unwind_code_open(const struct elf_image *image, struct unwind_code *ret);
void unwind_code_close(struct unwind_code *code);

/* The `n` bytes before an offset, few; NULL: they cannot be had. They stay until the next call. */
const uint8_t *unwind_code_before(struct unwind_code *code, uint64_t offset, size_t n);
