/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of a sample's stack: of its bytes, or of those words that the kernel's walk has kept, in
 * the order in which a walk by tables reads them.
 */
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

/* What a walk has passed of such words. */
struct stack_words_passed {
	const struct wire_words *words;
	size_t n;
};

/* Reads the next word from an address; false: there is none. The kernel may have kept others. */
static inline bool stack_words_read(struct stack_words_passed *passed, uint64_t address,
				    uint64_t *ret)
{
	for (size_t i = passed->n; i < passed->words->n; i++)
		if (passed->words->data[i].address == address) {
			*ret = passed->words->data[i].value;
			passed->n = i + 1;
			return true;
		}
	return false;
}
