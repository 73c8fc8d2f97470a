/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mmap(2), munmap(2) and mremap(2) work on any pages; emitted are mappings as they were made, and
 * what remains of them. A new mapping unmaps what it overlaps.
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
 * Emits what a ring's MAPPED, UNMAPPED or KEPT record means, with the time and thread of `event`.
 * 0; -ENOSPC: too many mappings, so this one is not emitted; -errno.
 */
int mapping_encoder_take(const struct mapping_encoder *self, enum heap_record kind,
			 const struct heap_event *event);
