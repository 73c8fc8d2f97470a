/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An image that a process has loaded: what it exports, and its memory. */
#pragma once

#include <gelf.h>
#include <stdbool.h>

#include "common/elf/elf-image.h"

/* `bias` is the address of its memory minus that in its file. */
struct loaded_image {
	const struct elf_image *elf;
	uint64_t bias;
	int memory; /* a descriptor of /proc/PID/mem */
};

/* Finds a dynamic symbol that the image defines. */
bool loaded_image_find_symbol(const struct loaded_image *image, const char *name, GElf_Sym *ret);

/*
 * Whether the begin of a function's code has an operand that leads to `place` in a variable: as an
 * address, as a distance from the instruction's end, or, behind the variable's address, as its
 * offset.
 */
bool loaded_image_refers_to(const struct loaded_image *image, const GElf_Sym *function,
			    const GElf_Sym *variable, int place);

/*
 * Copies what is behind a text in a section of the file, with a zero, as far as it has room. False:
 * the section does not have the text.
 */
bool loaded_image_find_text(const struct loaded_image *image, const char *section, const char *text,
			    char *ret, size_t size);

/* Reads memory at an address as linked; false: not all of it is there. */
bool loaded_image_read(const struct loaded_image *image, uint64_t address, void *ret, size_t size);
