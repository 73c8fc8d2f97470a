/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of fuzz targets. A target is one function of bytes: with -Dfuzz=true libFuzzer
 * generates them, else fuzz-main.c reads the files of the target's corpus.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The target. A finding ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A condition that must hold for any input. */
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

/* An input, consumed from its front. */
struct fuzz_input {
	const uint8_t *bytes;
	size_t size;
};

/* Fills `ret`; missing bytes are 0, so an input may be cut anywhere. */
static inline void fuzz_take(struct fuzz_input *input, void *ret, size_t size)
{
	size_t n = size < input->size ? size : input->size;

	memset(ret, 0, size);
	memcpy(ret, input->bytes, n);
	input->bytes += n;
	input->size -= n;
}

/*
 * Takes up to `size` bytes into a block of exact size, so that sanitizers detect reads past its
 * end. The caller frees it.
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
