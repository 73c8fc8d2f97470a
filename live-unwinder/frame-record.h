/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code of a JIT compiler has no unwind information, but many such compilers keep frame pointers: at
 * the frame pointer is a record of the caller's and of the return address. Nothing proves that the
 * code at hand has made the record which the register leads to. Two things disprove it: the return
 * address returns behind no call, or the record lies above a frame of another image, which is then
 * what has made it, or has it from its callers.
 */
#pragma once

#include "live-unwinder/engine.h"
#include "live-unwinder/rule-cache.h"

/* Words of a frame that are looked at for what returns to another image. */
enum { FRAME_RECORD_WORDS_MAX = 4096 };

struct frame_record {
	uint64_t at;	 /* the frame pointer */
	uint64_t fp, pc; /* what is there: the caller's, and where it goes on */
};

/*
 * Reads the record that a frame pointer leads to, of code whose stack pointer is `sp`; false: it is
 * none, or not of this code.
 */
bool frame_record_find(const struct unwinding *unwinding, struct rule_cache *cache, uint64_t sp,
		       uint64_t fp, struct frame_record *ret);
