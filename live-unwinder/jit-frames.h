/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code from jitdumps, which may grow while they are read: its bytes show where in a function the
 * frame pointer is set up, and where the caller is elsewhere (common/unwind/code-frame.h).
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/base/reading-share.h"
#include "common/jit/jitdump.h"
#include "common/unwind/unwind-arch.h"
#include "live-unwinder/engine.h"

enum {
	JIT_FRAMES_PROCESSES_MAX = 256,	   /* that have JIT code; others are refused */
	JIT_FRAMES_MEMORY_MAX = 128 << 20, /* bytes of code data; beyond it processes are refused */
	JIT_FRAMES_CACHED = 1024,	   /* a power of two */
};

/* A cached answer for one place, valid while its code stays the same. */
struct jit_frame {
	uint64_t process, generation;
	uint64_t place; /* piece of code and offset in it */
	enum code_frame frame;
	struct unwind_rule rule;
};

struct jit_frames {
	struct elf_cache *files; /* borrowed */
	const struct unwind_arch *arch;
	struct pair_map by_process; /* (upid, 0) → struct jit_process_frames * */
	uint64_t memory;
	struct reading_share share; /* live streams read jitdumps in pieces */
	struct jit_frame cached[JIT_FRAMES_CACHED];
};

void jit_frames_init(struct jit_frames *jit, struct elf_cache *files);
void jit_frames_deinit(struct jit_frames *jit);

/* Forgets a process that has exited or executed another program. */
void jit_frames_forget(struct jit_frames *jit, uint64_t process);

/*
 * How to leave the frame of the code at a pc, or in front of it unless `is_exact`;
 * CODE_FRAME_UNKNOWN: no jitdump has that code. `ret` is set with CODE_FRAME_RULE.
 */
enum code_frame jit_frames_find(struct jit_frames *jit, const struct unwinding *unwinding,
				uint64_t pc, bool is_exact, struct unwind_rule *ret);
