/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which file of a recording is the program: what readers take for the name of all of it. */
#pragma once

#include "profile/profile.h"

/*
 * The process whose samples weigh most (of a heap, the first); an index. -1: there is none.
 */
int64_t profile_hottest_process(const struct profile *profile);

/*
 * What a recording may be called by: the name of processes whose samples weigh half of all or more
 * (of a heap, of the first one). 0: there is none.
 */
uint32_t profile_program_name(const struct profile *profile);

/* Whether a module is of the kernel or the C library, or no file: then it is of every program. */
bool profile_module_is_of_all(const struct profile *profile, uint32_t module);

/*
 * The module of its executable: one that is called as it is, else the one in which most of its
 * stacks begin. 0: not known. -ENOMEM.
 */
int profile_find_program(const struct profile *profile, uint32_t *ret_module);
