/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of interpreters' languages in the stacks of a stream. */
#pragma once

#include "common/stage/stage.h"
#include "live-unwinder/script-merge.h"
#include "live-unwinder/walk/code-table.h"

struct scripts {
	struct runtime_table runtimes;
	struct code_table codes;
	struct script_stack stack; /* of the current sample */
	uint64_t n_outcomes[SCRIPT_OUTCOMES_MAX];
};

void scripts_init(struct scripts *scripts);
void scripts_deinit(struct scripts *scripts);

/* Each applies the record of that name. 0 or -ENOMEM. */
int scripts_take_process(struct scripts *scripts, const struct wire_process *record);
int scripts_take_runtime(struct scripts *scripts, const struct wire_runtime *record);
int scripts_take_memory(struct scripts *scripts, const struct wire_memory *record);

/* How a sample's process has said that its code is left. */
struct made_calls scripts_find_calls(struct scripts *scripts, struct elf_cache *files,
				     const struct unwinding *unwinding);

/* A process has ended. */
void scripts_forget(struct scripts *scripts, uint64_t process);

/* Adds the frames of a sample's script to its stack, of up to `n_frames_max` frames, and counts. */
void scripts_add(struct scripts *scripts, const struct process_table *processes,
		 size_t n_frames_max, struct unwinding *unwinding);

/* Adds the counters to the stage's, in the group "script-frames". */
void scripts_count(const struct scripts *scripts, struct stage *stage);
