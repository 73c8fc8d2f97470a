/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where code begins, as its trait, so that an address in it is a number of an instruction. A trait
 * has room only for the last bits of the address; code is not longer than these tell.
 */
#pragma once

#include <stdint.h>

#include "common/script/memory-pieces.h"
#include "live-unwinder/walk/code-table.h"

enum { CODE_BEGIN_BITS = 19 };

static inline uint64_t code_begin_part(uint64_t address, unsigned int unit_bits)
{
	return address >> unit_bits & ((1ULL << CODE_BEGIN_BITS) - 1);
}

/*
 * The trait of an object that has the address of its code, and how many units of so many bits that
 * has, in 4 bytes. 0: it has none.
 */
static inline uint64_t code_begin_trait(const struct wire_memory *object, int64_t address_at,
					int64_t count_at, unsigned int unit_bits)
{
	uint64_t address;
	uint32_t n;

	if (!memory_field(&object->bytes, address_at, &address, sizeof(address)) ||
	    !memory_field(&object->bytes, count_at, &n, sizeof(n)) || !n ||
	    n >= 1U << CODE_BEGIN_BITS)
		return 0;
	return code_begin_part(address, unit_bits) + 1;
}

/* How many units behind its begin an address in code with that trait is. */
static inline uint64_t code_begin_distance(uint64_t trait, uint64_t address, unsigned int unit_bits)
{
	return (code_begin_part(address, unit_bits) - (trait - 1)) &
	       ((1ULL << CODE_BEGIN_BITS) - 1);
}
