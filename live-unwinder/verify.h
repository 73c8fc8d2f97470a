/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every Nth sample that the tables have unwound is unwound by elfutils, too, and the answers are
 * compared. The first samples that differ are written down with all that is needed to unwind them
 * again: a stream like any other.
 */
#pragma once

#include "common/stream/identity.h"
#include "live-unwinder/engine.h"

enum { VERIFY_DUMPED_MAX = 16 };

struct verify {
	uint64_t every; /* 0: never */
	uint64_t n_passed;
	const char *dump_path; /* NULL: nothing is written */
	int dump_fd;
	struct wire_writer dump;
	size_t n_dumped;
	struct wire_frame *frames;	    /* room for the other answer */
	uint64_t *n_compared, *n_different; /* counters of the stage */
};

/* `every` and `dump_path` have been filled in. 0 or -errno, of the dump's file. */
int verify_start(struct verify *verify, struct stage *stage, const struct wire_hello *hello,
		 size_t n_frames_max);
int verify_finish(struct verify *verify, uint64_t time);
void verify_deinit(struct verify *verify);

/* Whether this sample is to be compared. */
bool verify_is_due(struct verify *verify);

/* An unwinding of the same sample, for the other engine. */
struct unwinding verify_begin(const struct verify *verify, const struct unwinding *unwinding);

/* Counts whether both answered alike, and writes the sample down if not. 0 or -errno of the dump.
 */
int verify_compare(struct verify *verify, const struct identity *identity,
		   const struct unwinding *answer, const struct unwinding *reference);
