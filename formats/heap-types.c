/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/heap-types.h"

const struct heap_type heap_types[N_HEAP_TYPES] = {
	{ "alloc_objects", HEAP_ALLOCATED, HEAP_BLOCKS },
	{ "alloc_space", HEAP_ALLOCATED, HEAP_BYTES },
	{ "inuse_objects", HEAP_LEAKED, HEAP_BLOCKS },
	{ "inuse_space", HEAP_LEAKED, HEAP_BYTES },
	{ "peak_objects", HEAP_AT_PEAK, HEAP_BLOCKS },
	{ "peak_space", HEAP_AT_PEAK, HEAP_BYTES },
};
