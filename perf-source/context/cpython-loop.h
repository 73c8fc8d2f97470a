/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the code of CPython's loop is (_PyEval_EvalFrameDefault), whose activations each execute a
 * frame up to 3.10. Compilers move rare parts of a function to another place.
 */
#pragma once

#include "perf-source/context/loaded-image.h"

enum { CPYTHON_LOOP_PARTS = 2 };

struct cpython_loop {
	/* Addresses as linked; `to` is exclusive. 0 and 0: there is no such part. */
	struct {
		uint64_t from, to;
	} parts[CPYTHON_LOOP_PARTS];
};

/* False: the image does not export it. */
bool cpython_loop_find(const struct loaded_image *image, struct cpython_loop *ret);
