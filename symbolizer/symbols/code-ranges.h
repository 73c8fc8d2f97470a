/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the functions of a file begin and end, as its unwind information describes them: all that a
 * stripped file tells of them. Their places then have no name, but one number a function.
 */
#pragma once

#include "common/elf/elf-image.h"

struct code_range {
	uint64_t start, size; /* an address, as linked */
};

struct code_ranges {
	struct code_range *list; /* by start */
	size_t n;
};

/* Reads the ranges of a file; where its information cannot be read there are none. 0 or -ENOMEM. */
int code_ranges_init(struct code_ranges *ranges, const struct elf_image *elf);
void code_ranges_deinit(struct code_ranges *ranges);

/* The function that holds an address; NULL: none is described. */
const struct code_range *code_ranges_find(const struct code_ranges *ranges, uint64_t address);

/* Whether another function is described to begin behind `start`, up to an address. */
bool code_ranges_begins_another(const struct code_ranges *ranges, uint64_t start, uint64_t address);

/* Whether the function at `start` is described, and ends before an address. */
bool code_ranges_has_ended(const struct code_ranges *ranges, uint64_t start, uint64_t address);
