/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/*
 * Whether BPF programs may read user memory in an interrupt. Some kernels may hang then, as their
 * check of what is copied takes a lock (5.19 to 6.0, 6.1 before 6.1.36, 6.2, 6.3 before 6.3.10).
 */
bool user_memory_is_safe(void);

/* The same of a kernel with these texts of uname(2). */
bool user_memory_is_safe_in(const char *release, const char *version);
