/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the kernel's symbols for the end of a Sysprof capture, as the bytes of an embedded file. */
#pragma once

#include "common/base/pair-map.h"
#include "profile/names/names.h"

/*
 * Makes a /proc/kallsyms of only the functions in `kernel`: (start, size) → name, with the module's
 * name or 0 in the upper half. The caller frees it. 0 or -ENOMEM.
 */
int syscap_make_kallsyms(const struct pair_map *kernel, const struct names *names, char **ret,
			 size_t *ret_size);
