/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * JIT code, and V8's builtins, have no unwind information, but many keep frame pointers: the frame
 * pointer leads to a record of the caller's frame pointer and return address. Nothing proves that
 * the code itself made this record. Two things disprove it: no call precedes the return address, or
 * the record lies above a frame of another image, which then made or inherited it.
 *
 * In a prologue or epilogue the frame pointer is still the caller's. The top of the stack is then
 * the return address, or the pushed frame pointer with the return address behind it; few functions
 * keep code addresses there otherwise.
 */
#pragma once

#include "live-unwinder/engine.h"
#include "live-unwinder/rule-cache.h"
#include "live-unwinder/v8/v8-builtins.h"

/* Whether JIT code may be here: memory without a file, or a non-ELF file (some use a memfd). */
bool frame_record_may_be_made(const struct stored_table *entry);

/* Words of a frame that are searched for a return address into another image. */
enum { FRAME_RECORD_WORDS_MAX = 4096 };

struct frame_record {
	uint64_t at;	 /* the frame pointer, or its value once the record is made */
	uint64_t fp, pc; /* the caller's, as read from the record */
};

/* Reads the record at the frame pointer, of code with stack pointer `sp`; false: not its record. */
bool frame_record_find(const struct unwinding *unwinding, struct rule_cache *cache, uint64_t sp,
		       uint64_t fp, struct frame_record *ret);

/*
 * Of code that an interpreter calls, and that keeps no frame pointer: the nearest return address
 * that any file has, within as many words as unwinding->calls says. It must be the interpreter's,
 * behind an indirect call. `at` is where it is, and `fp` is not set. False: it is another one.
 */
bool frame_record_find_call(const struct unwinding *unwinding, struct rule_cache *cache,
			    uint64_t sp, struct frame_record *ret);

/*
 * Of code that is executed in a frame of the function that unwinding->calls says: the rule of that
 * frame. So many bytes more than it has are on the stack. False: it does not lead to an indirect
 * call in the interpreter's image.
 */
bool frame_record_find_rule(const struct unwinding *unwinding, struct rule_cache *cache,
			    uint64_t sp, uint64_t fp, uint64_t more,
			    const struct unwind_rule **ret);

/* The same for running code that has not made its record yet, or has popped it; false: neither. */
bool frame_record_find_unmade(const struct unwinding *unwinding, struct rule_cache *cache,
			      struct v8_builtins *builtins, uint64_t sp, uint64_t fp,
			      struct frame_record *ret);
