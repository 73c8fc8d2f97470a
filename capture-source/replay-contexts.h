/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads back what programs publish, from stackpipe's note in a capture (syscap-format.h):
 * attributes of resources, trace contexts, and which thread was in which. The note is not trusted.
 */
#pragma once

#include "capture-source/lines.h"
#include "common/base/pair-map.h"
#include "common/stage/stage.h"

struct replay_contexts {
	struct lines lines; /* that were not read yet */
	/* (PID, TID in the file) → number of the context that samples have from now on */
	struct pair_map of_thread;
	/* The number of the process of a PID in the file, at a time. 0 or -errno. */
	int (*find_process)(int32_t pid, uint64_t time, uint64_t *ret, void *arg);
	void *arg;
};

void replay_contexts_init(struct replay_contexts *contexts, const struct syscap_file *file);
void replay_contexts_deinit(struct replay_contexts *contexts);

/* Emits all up to `until`. 0 or -errno of the output or of memory. */
int replay_contexts_emit(struct replay_contexts *contexts, struct stage *stage, uint64_t until);

/* The number of the context that a sample of a thread has; 0: none. */
uint64_t replay_contexts_of_thread(const struct replay_contexts *contexts, int32_t pid,
				   int32_t tid);
