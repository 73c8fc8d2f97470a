/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every fuzz target has. A target is one function of bytes: with -Dfuzz=true libFuzzer makes
 * the bytes up, else fuzz-main.c takes them from the files of the target's corpus.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The target. What it finds ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What must hold of any input. */
#define fuzz_check(condition)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fuzz_fail(__FILE__, __LINE__, #condition);                                 \
	} while (0)

static inline _Noreturn void fuzz_fail(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
	abort();
}

/* The bytes of an input, taken from its front. */
struct fuzz_input {
	const uint8_t *bytes;
	size_t size;
};

/* Fills `ret`; what is not there is 0, so that an input may be cut anywhere. */
static inline void fuzz_take(struct fuzz_input *input, void *ret, size_t size)
{
	size_t n = size < input->size ? size : input->size;

	memset(ret, 0, size);
	memcpy(ret, input->bytes, n);
	input->bytes += n;
	input->size -= n;
}

/*
 * Up to `size` bytes in a block of their own, so that a sanitizer sees whoever leaves it. The
 * caller frees it.
 */
static inline void *fuzz_take_block(struct fuzz_input *input, size_t size, size_t *ret_size)
{
	size_t n = size < input->size ? size : input->size;
	void *block = malloc(n);

	fuzz_check(block);
	fuzz_take(input, block, n);
	*ret_size = n;
	return block;
}
