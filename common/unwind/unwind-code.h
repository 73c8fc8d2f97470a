/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of a file, for the few places where instructions show more than unwind information. It
 * is requested in file order, and read a window at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/elf-image.h"

/* All zero: no code. */
struct unwind_code {
	bool has_fd;
	int fd;	       /* the file; owned */
	uint8_t *file; /* instead, the bytes of an image in memory; owned */
	size_t size;
	uint8_t window[4096];
	uint64_t window_at; /* its file offset */
	size_t window_size;
};

/* Duplicates the image's descriptor, or copies its bytes. 0, -ENOMEM or -errno. */
int unwind_code_open(const struct elf_image *image, struct unwind_code *ret);
void unwind_code_close(struct unwind_code *code);

/* The `n` bytes (few) before an offset; NULL: unreadable. They stay until the next call. */
const uint8_t *unwind_code_before(struct unwind_code *code, uint64_t offset, size_t n);
