/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the threads of a process have the pointer to their context (OTEP 4947): in a variable of
 * thread-local storage. This is the walk program of thread contexts: data, which a helper without
 * rights makes of the process's files and memory.
 */
#pragma once

#include <stdint.h>

enum { CONTEXT_PLACES_MAX = 8192 }; /* processes at one time */

enum context_place_kind {
	CONTEXT_PLACE_UNKNOWN, /* it is being looked for, or there is none */
	CONTEXT_PLACE_STATIC,  /* `offset` from the thread pointer */
	CONTEXT_PLACE_DYNAMIC, /* `offset` in the block of a module, which the thread has by number
				*/
};

struct context_place {
	uint64_t module;
	int64_t offset;
	uint32_t kind; /* enum context_place_kind */
	uint32_t reserved;
};
