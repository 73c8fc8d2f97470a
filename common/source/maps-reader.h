/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the maps of processes in a thread. The kernel waits for a process that changes its mappings
 * (always before 6.17), and a program can make its own munmap(2) or mmap(2) wait for a file system
 * that never answers. A blocked thread is abandoned and replaced; until it is back, few maps of the
 * accountable user's processes are read.
 */
#pragma once

#include <stdint.h>

#include "common/proc/proc.h"

enum {
	MAPS_READER_PATIENCE_MS = 250,
	MAPS_READER_STUCK_MAX = 32, /* threads; from this number on nothing is read */
	MAPS_READER_STUCK_OF_USER_MAX = 2,
};

enum maps_kind {
	MAPS_EXECUTABLE, /* proc_read_maps() */
	MAPS_ALL,	 /* proc_read_all_maps() */
};

/* Started when first needed. */
struct maps_reader;

/* Abandoned threads stay until the process ends. NULL is allowed. */
void maps_reader_end(struct maps_reader *reader);

/*
 * As proc_read_maps() or proc_read_all_maps(). -ETIMEDOUT: the process did not answer in time;
 * -EBUSY: too many threads are blocked; -ENOMEM.
 */
int maps_reader_read(struct maps_reader **reader, uint32_t pid, enum maps_kind kind,
		     struct proc_maps *ret);
