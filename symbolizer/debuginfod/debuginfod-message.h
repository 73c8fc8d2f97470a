/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between a stage and its download process, one per packet. */
#pragma once

#include <stdint.h>

#include "common/wire/wire.h"

/* The outcome of a request. */
enum debuginfod_outcome {
	DEBUGINFOD_ARRIVED = 1, /* it is in the cache */
	DEBUGINFOD_NOT_FOUND,	/* no server has it */
	DEBUGINFOD_TOO_LARGE,
	DEBUGINFOD_TIMEOUT,
	DEBUGINFOD_UNREACHABLE, /* no server could be reached */
	DEBUGINFOD_FAILED,	/* anything else, such as a full disk */
	N_DEBUGINFOD_OUTCOMES,
};

struct debuginfod_request {
	uint32_t number; /* chosen by the stage, and repeated in the answer */
	uint32_t size;	 /* of the build-id */
	uint8_t build_id[WIRE_BUILD_ID_MAX];
};

enum { DEBUGINFOD_NO_LIBRARY = 100 }; /* instead of an outcome: no answers will follow */

struct debuginfod_answer {
	uint32_t number;
	uint32_t outcome;
};
