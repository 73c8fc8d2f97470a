/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's names at the end of a Sysprof capture, as the bytes of a file in it. */
#pragma once

#include "profile/names.h"
#include "common/base/pair-map.h"

/*
 * /proc/kallsyms with only the functions of `kernel`: (start, size) → the name, and in the upper
 * half its module's or 0. The caller frees it. 0 or -ENOMEM.
 */
int syscap_make_kallsyms(const struct pair_map *kernel, const struct names *names, char **ret,
			 size_t *ret_size);
