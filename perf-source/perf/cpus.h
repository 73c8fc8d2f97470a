/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which CPUs there are, and which of them are online: lists of /sys/devices/system/cpu. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The numbers of all that are there, online or not; the caller frees them. 0 or -errno. */
int cpus_find(int **ret, size_t *ret_n);

/* Of each of these numbers whether it is online now; all are where the kernel does not say. */
void cpus_look(const int *cpus, size_t n, bool *ret_online);

/* The last number that a CPU of this machine may ever have. */
int cpus_highest(void);
