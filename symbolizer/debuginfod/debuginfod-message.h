/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a stage and the process that downloads for it say to each other, one in a packet each. */
#pragma once

#include <stdint.h>

#include "common/wire/wire.h"

/* What became of a build-id. */
enum debuginfod_outcome {
	DEBUGINFOD_ARRIVED = 1, /* it is in the cache */
	DEBUGINFOD_NOT_FOUND,	/* no server has it */
	DEBUGINFOD_TOO_LARGE,
	DEBUGINFOD_TIMEOUT,
	DEBUGINFOD_UNREACHABLE, /* no server could be asked */
	DEBUGINFOD_FAILED,	/* anything else, like a full disk */
	N_DEBUGINFOD_OUTCOMES,
};

struct debuginfod_request {
	uint32_t number; /* any; its answer has it too */
	uint32_t size;	 /* of the build-id */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

enum { DEBUGINFOD_NO_LIBRARY = 100 }; /* instead of an outcome: there will be no answers */

struct debuginfod_answer {
	uint32_t number;
	uint32_t outcome;
};
