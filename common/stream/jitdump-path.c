/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "common/stream/jitdump-path.h"

bool jitdump_path_is(const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned int pid;
	int end = 0;

	return slash && sscanf(slash, "/jit-%u.dump%n", &pid, &end) == 1 && end > 0 && !slash[end];
}
