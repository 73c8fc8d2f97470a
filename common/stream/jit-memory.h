/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that may hold code of a JIT compiler, written through another mapping: a memfd (.NET since
 * version 7) or a file in /dev/shm. The path alone is no proof: a library may lie there, too.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool jit_memory_is_path(const char *path)
{
	return !strncmp(path, "/memfd:", strlen("/memfd:")) ||
	       !strncmp(path, "/dev/shm/", strlen("/dev/shm/"));
}
