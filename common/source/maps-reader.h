/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what processes have mapped, in a thread: the kernel waits for whoever changes that (on
 * kernels before 6.17 in any case), and a program can have its own munmap(2) or mmap(2) wait for a
 * file system that never answers. A thread that does not come back is given up, and replaced; of
 * whoever answers for such a process not much more is read until it is back.
 */
#pragma once

#include <stdint.h>

#include "common/proc/proc.h"

enum {
	MAPS_READER_PATIENCE_MS = 250,
	MAPS_READER_STUCK_MAX = 32, /* threads; with so many nothing is read any more */
	MAPS_READER_STUCK_OF_USER_MAX = 2,
};

enum maps_kind {
	MAPS_EXECUTABLE, /* proc_read_maps() */
	MAPS_ALL,	 /* proc_read_all_maps() */
};

/* Begun when it is first needed. */
struct maps_reader;

/* Threads that were given up stay until the process ends. NULL is none. */
void maps_reader_end(struct maps_reader *reader);

/*
 * As proc_read_maps(), or the other one; -ETIMEDOUT: the process did not answer in time; -EBUSY:
 * too many do not; -ENOMEM.
 */
int maps_reader_read(struct maps_reader **reader, uint32_t pid, enum maps_kind kind,
		     struct proc_maps *ret);
