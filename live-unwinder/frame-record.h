/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code of a JIT compiler has no unwind information, but many such compilers keep frame pointers: at
 * the frame pointer is a record of the caller's and of the return address. Nothing proves that the
 * code at hand has made the record which the register leads to. Two things disprove it: the return
 * address returns behind no call, or the record lies above a frame of another image, which is then
 * what has made it, or has it from its callers.
 *
 * In a prologue and an epilogue the frame pointer is the caller's. What lies on top of the stack
 * then is the return address, or the frame pointer that was pushed and that: behind them few
 * functions have addresses of code.
 */
#pragma once

#include "live-unwinder/engine.h"
#include "live-unwinder/rule-cache.h"

/* Memory without a file, or a file that is no ELF file: JIT compilers use a memfd, too. */
bool frame_record_may_be_made(const struct stored_table *entry);

/* Words of a frame that are looked at for what returns to another image. */
enum { FRAME_RECORD_WORDS_MAX = 4096 };

struct frame_record {
	uint64_t at;	 /* the frame pointer, or what it would be */
	uint64_t fp, pc; /* what is there: the caller's, and where it goes on */
};

/*
 * Reads the record that a frame pointer leads to, of code whose stack pointer is `sp`; false: it is
 * none, or not of this code.
 */
bool frame_record_find(const struct unwinding *unwinding, struct rule_cache *cache, uint64_t sp,
		       uint64_t fp, struct frame_record *ret);

/*
 * The same of code that runs now, where its record is not made yet, or is no more; false: that is
 * not how the stack looks.
 */
bool frame_record_find_unmade(const struct unwinding *unwinding, struct rule_cache *cache,
			      uint64_t sp, uint64_t fp, struct frame_record *ret);
