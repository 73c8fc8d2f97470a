/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A capture as a stream: what format it has is seen from its first bytes. */
#pragma once

#include "capture-source/bundle.h"
#include "capture-source/capture-file.h"
#include "capture-source/places.h"
#include "capture-source/syscap-file.h"
#include "common/kallsyms.h"

enum { REPLAYED_FRAMES = 1 << 16 }; /* a power of two */

/* What an address of a process was, for the next stack that has it. */
struct replayed_frame {
	uint64_t process, version; /* which of a process's mappings, and of all names */
	uint64_t address;
	uint8_t state; /* in which the address was taken: of the kernel, exact */
	struct wire_frame frame;
};

struct replay {
	const char *path; /* first, as the options fill it in */
	struct capture_file file;
	bool is_folded;
	struct places places;
	struct stage *stage;
	/* Of a Sysprof capture. */
	struct syscap_file syscap;
	struct bundle bundle;
	struct kallsyms kallsyms;
	struct replayed_frame *frames; /* direct-mapped */
	struct taking *taking;	       /* a stack apart */
	struct pair_map names;	       /* (PID in the file, 0) → item with its first name */
	struct pair_map processes;     /* (PID in the file, 0) → struct replayed_process * */
	bool is_ours;		       /* stackpipe has written it */
	uint64_t period;	       /* nanoseconds that a sample stands for; 0: not known */
};

/* Callbacks of stage.h. */
int replay_start(struct stage *stage, void *self, struct wire_hello *hello);
int replay_run(struct stage *stage, void *self);
void replay_deinit(void *self);

/* Of each format: fills in the hello; sends everything else. 0 or -errno. */
int replay_syscap_start(struct stage *stage, struct replay *replay, struct wire_hello *hello);
int replay_syscap_run(struct stage *stage, struct replay *replay);
void replay_syscap_deinit(struct replay *replay);
int replay_folded_run(struct stage *stage, struct replay *replay);
