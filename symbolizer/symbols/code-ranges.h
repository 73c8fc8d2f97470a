/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bounds of a file's functions, from its unwind information: all that a stripped file has.
 * Locations in a function then have no name, but share its start.
 */
#pragma once

#include "common/elf/elf-image.h"

struct code_range {
	uint64_t start, size; /* linked address */
};

struct code_ranges {
	struct code_range *list; /* by start */
	size_t n;
};

/* Reads the ranges of a file; none if its unwind information is unreadable. 0 or -ENOMEM. */
int code_ranges_init(struct code_ranges *ranges, const struct elf_image *elf);
void code_ranges_deinit(struct code_ranges *ranges);

/* The function at an address; NULL: no FDE. */
const struct code_range *code_ranges_find(const struct code_ranges *ranges, uint64_t address);

/* Whether another function begins behind `start`, up to an address, by its FDE. */
bool code_ranges_begins_another(const struct code_ranges *ranges, uint64_t start, uint64_t address);

/* Whether the function at `start` has an FDE that ends at or before an address. */
bool code_ranges_has_ended(const struct code_ranges *ranges, uint64_t start, uint64_t address);
