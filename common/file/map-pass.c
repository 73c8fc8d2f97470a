/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/mman.h>

#include "common/file/map-pass.h"

void map_pass_come_to(struct map_pass *pass, const void *map, size_t at)
{
	size_t piece = at / MAP_PASS_PIECE * MAP_PASS_PIECE;

	if (piece > pass->kept_from)
		madvise((char *)map + pass->kept_from, piece - pass->kept_from, MADV_DONTNEED);
	pass->kept_from = piece;
}
