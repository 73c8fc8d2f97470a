/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A variable of the thread, found by the code of a function that loads it near its begin: by an
 * offset in the code, or from the GOT, or with the address from __tls_get_addr() (the local-exec,
 * the initial-exec and the general-dynamic model of the ELF handling for thread-local storage).
 */
#pragma once

#include "perf-source/bpf/walk-program.h"
#include "perf-source/image/loaded-image.h"

/*
 * The distance from the thread pointer to what a function returns on one of its ways. False: the
 * function does something else.
 */
bool thread_variable_find(const struct loaded_image *image, const GElf_Sym *function, int64_t *ret);

/*
 * What leads to the structure of which a function reads the member at an offset first. The last
 * load is that of the variable, so far with nothing added to it. False: as above.
 */
bool thread_variable_find_root(const struct loaded_image *image, const GElf_Sym *function,
			       uint8_t member, struct walk_root *ret);
