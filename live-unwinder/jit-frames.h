/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code that JIT compilers tell in jitdumps: its bytes show at which instructions of a function
 * a frame pointer is set up, and where the caller is at the others (common/unwind/code-frame.h).
 * The files grow while we read.
 */
#pragma once

#include "common/jit/jitdump.h"
#include "common/base/pair-map.h"
#include "common/base/reading-share.h"
#include "common/unwind/unwind-arch.h"
#include "live-unwinder/engine.h"

enum {
	JIT_FRAMES_PROCESSES_MAX = 256,	   /* with such code; that of others is not looked at */
	JIT_FRAMES_MEMORY_MAX = 128 << 20, /* bytes of what is known; who brings more is refused */
	JIT_FRAMES_CACHED = 1024,	   /* a power of two */
};

/* What was found for a place, which is the same as long as the code is. */
struct jit_frame {
	uint64_t process, generation;
	uint64_t place; /* the piece of code and the offset in it */
	enum code_frame frame;
	struct unwind_rule rule;
};

struct jit_frames {
	struct elf_cache *files; /* borrowed */
	const struct unwind_arch *arch;
	struct pair_map by_process; /* (upid, 0) → struct jit_process * */
	uint64_t memory;
	struct reading_share share; /* of a live stream: jitdumps are read in pieces */
	struct jit_frame cached[JIT_FRAMES_CACHED];
};

void jit_frames_init(struct jit_frames *jit, struct elf_cache *files);
void jit_frames_deinit(struct jit_frames *jit);

/* A process is no more, or has another program. */
void jit_frames_forget(struct jit_frames *jit, uint64_t process);

/*
 * What the code at a pc, or in front of it if that is not exact, tells of the frame there;
 * CODE_FRAME_UNKNOWN: nobody has told of that code. `ret` is the rule of CODE_FRAME_RULE.
 */
enum code_frame jit_frames_find(struct jit_frames *jit, const struct unwinding *unwinding,
				uint64_t pc, bool is_exact, struct unwind_rule *ret);
