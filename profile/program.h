/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the program of a recording: the name that readers use for all of it. */
#pragma once

#include "profile/profile.h"

/*
 * The index of the process whose samples weigh most (of a heap, the first one). -1: there is none.
 */
int64_t profile_hottest_process(const struct profile *profile);

/*
 * The name for a recording: that of the heaviest process, if processes of that name have at least
 * half of all weight (of a heap, the first process). 0: there is none.
 */
uint32_t profile_program_name(const struct profile *profile);

/* Whether a module belongs to every program: the kernel's, the C library's, or no file. */
bool profile_module_is_of_all(const struct profile *profile, uint32_t module);

/*
 * Finds the executable of the heaviest process: a module with the process's name, else the one in
 * which most of its stacks begin. 0: not known. Returns 0 or -ENOMEM.
 */
int profile_find_program(const struct profile *profile, uint32_t *ret_module);
