/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a sample's stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/wire/wire.h"

/* Reads a word of a stack captured from `start` on; false: it was not captured. */
static inline bool stack_read_word(const struct wire_blob *stack, uint64_t start, uint64_t address,
				   uint64_t *ret)
{
	uint64_t offset = address - start;

	if (stack->size < sizeof(*ret) || offset > stack->size - sizeof(*ret))
		return false;
	memcpy(ret, (const char *)stack->data + offset, sizeof(*ret));
	return true;
}
