/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mmap(2), munmap(2) and mremap(2) work on any pages; what is told are mappings as they were made,
 * and what remains of them. Whatever is mapped, unmaps what was there.
 */
#pragma once

#include "preload-source/reader/heap-encoder.h"
#include "preload-source/reader/mapped-ranges.h"

struct mapping_encoder {
	struct heap_encoder *encoder;		    /* borrowed */
	const struct heap_encoder_process *process; /* borrowed */
	struct mapped_ranges *mapped;		    /* of the process */
	struct mapped_ranges *unmapped; /* by the thread's last call, which may still fail */
};

/*
 * Tells what a record of a ring (MAPPED, UNMAPPED, KEPT) means; the rest of `event` is as of any
 * other. 0; -ENOSPC: there are too many mappings, and it is not told; -errno.
 */
int mapping_encoder_take(const struct mapping_encoder *self, enum heap_record kind,
			 const struct heap_event *event);
