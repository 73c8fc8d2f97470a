/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A variable of the thread that a function returns, found by the function's code. */
#pragma once

#include "perf-source/context/loaded-image.h"

/*
 * The distance from the thread pointer to what a function returns on one of its ways, near its
 * begin: an offset in the code, or from the GOT (the local-exec and the initial-exec model of the
 * ELF handling for thread-local storage). False: the function does something else.
 */
bool thread_variable_find(const struct loaded_image *image, const GElf_Sym *function, int64_t *ret);
