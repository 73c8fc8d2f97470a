/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Present and online CPUs, from the lists of /sys/devices/system/cpu. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The numbers of all present CPUs, online or not; the caller frees them. 0 or -errno. */
int cpus_find(int **ret, size_t *ret_n);

/* Whether each of these CPUs is online now; all are if the list cannot be read. */
void cpus_look(const int *cpus, size_t n, bool *ret_online);
