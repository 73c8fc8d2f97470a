/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwinds every Nth sample that the tables have unwound with elfutils, too, and compares. The first
 * samples that differ are dumped as a stream with all that is needed to unwind them again.
 */
#pragma once

#include "common/stream/identity.h"
#include "live-unwinder/engine.h"

enum { VERIFY_DUMPED_MAX = 16 };

struct verify {
	uint64_t every; /* 0: never */
	uint64_t n_passed;
	const char *dump_path; /* NULL: no dump */
	int dump_fd;
	struct wire_writer dump;
	size_t n_dumped;
	struct wire_frame *frames;	    /* frames of the other answer */
	uint64_t *n_compared, *n_different; /* counters of the stage */
	struct counters *counters;	    /* of the stage, too */
	uint64_t n_judged_different;
};

/* `every` and `dump_path` must be set. 0 or -errno of the dump file. */
int verify_start(struct verify *verify, struct stage *stage, const struct wire_hello *hello,
		 size_t n_frames_max);
int verify_finish(struct verify *verify, uint64_t time);
void verify_deinit(struct verify *verify);

/* Whether to compare this sample. */
bool verify_is_due(struct verify *verify);

/* Returns an unwinding of the same sample for the other engine. */
struct unwinding verify_begin(const struct verify *verify, const struct unwinding *unwinding);

/*
 * Counts whether the words that the kernel has kept of a stack lead where its copy does, and dumps
 * the sample if not. The copy has nothing below the stack pointer, nor what lies behind an absent
 * page: where it ends there, and the words lead farther on the same way, `copied` gets that answer.
 * 0 or -errno of the dump.
 */
int verify_judge(struct verify *verify, const struct identity *identity,
		 const struct unwinding *by_words, struct unwinding *copied);

/* Counts whether both answers agree, and dumps the sample if not. 0 or -errno of the dump. */
int verify_compare(struct verify *verify, const struct identity *identity,
		   const struct unwinding *answer, const struct unwinding *reference);
