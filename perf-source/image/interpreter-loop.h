/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the code of an interpreter's loop is, one function whose activations each execute a part of
 * the script's stack. Compilers move rare parts of a function to another place.
 */
#pragma once

#include "perf-source/image/loaded-image.h"

enum { INTERPRETER_LOOP_PARTS = 2 };

struct interpreter_loop {
	/* Addresses as linked; `to` is exclusive. 0 and 0: there is no such part. */
	struct {
		uint64_t from, to;
	} parts[INTERPRETER_LOOP_PARTS];
};

/* False: the image does not export the function. */
bool interpreter_loop_find(const struct loaded_image *image, const char *function,
			   struct interpreter_loop *ret);

/* The function that begins at an address. False: none does. */
bool interpreter_loop_find_at(const struct loaded_image *image, uint64_t begin,
			      struct interpreter_loop *ret);

/*
 * The same, if nothing exports it: the function with most jumps to where a register leads (direct
 * threaded code: each instruction of the script is an address). False: none has many.
 */
bool interpreter_loop_find_threaded(const struct loaded_image *image, struct interpreter_loop *ret);

/*
 * The same, if it jumps to where a table leads: the only function of its size with such a jump.
 * False: there is none, or there are several.
 */
bool interpreter_loop_find_large(const struct loaded_image *image, struct interpreter_loop *ret);

/*
 * The same, if it is made by hand: the function that has an instruction most often. False: none has
 * it many times.
 */
bool interpreter_loop_find_repeating(const struct loaded_image *image, const uint8_t *instruction,
				     size_t size, struct interpreter_loop *ret);

/* Appends where the loop is, as loaded, to the text of a runtime's layout, of up to `size` bytes.
 */
void interpreter_loop_describe(const struct interpreter_loop *loop, uint64_t bias, char *text,
			       size_t size);
