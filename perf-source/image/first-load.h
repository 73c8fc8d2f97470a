/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The variable that a function loads first, by its code (x86-64): `mov DISTANCE(%rip),REGISTER`;
 * or, in a library whose variables may be another file's, its address from the GOT by
 * `mov DISTANCE(%rip),%rax`, and then `mov (%rax),REGISTER`.
 */
#pragma once

#include "perf-source/image/loaded-image.h"

enum first_load_outcome {
	FIRST_LOAD_FOUND,
	FIRST_LOAD_OTHER,   /* the function does something else */
	FIRST_LOAD_NOT_YET, /* the GOT has no address yet: the process is being started */
};

/* The variable's address, without the image's bias. */
enum first_load_outcome first_load_find(const struct loaded_image *image, const GElf_Sym *function,
					uint64_t *ret);
