/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage's work: turns samples into stacks, chooses the engine, and counts end reasons. */
#pragma once

#include "common/elf/elf-cache.h"
#include "common/stream/identity.h"
#include "live-unwinder/deep-stack.h"
#include "live-unwinder/engines.h"
#include "live-unwinder/scripts.h"
#include "live-unwinder/stack-file.h"
#include "live-unwinder/trace-contexts.h"
#include "live-unwinder/verify.h"

enum {
	UNWINDER_MEMORY_MAX = 1 << 30, /* bytes of data */
	UNWINDER_FAULTS_MAX = 1 << 20, /* (image, end reason) pairs with a cached counter */
};

struct live_unwinder {
	struct identity identity;
	const struct arch *arch; /* of the stream's machine */
	struct engines engines;
	bool waits_for_tables; /* the engine of tables was asked for by its name */
	size_t n_frames_max;
	uint32_t stack_asked; /* bytes per sample, from the hello */
	struct elf_cache files;
	struct stack_file recording;
	struct deep_stack deep;
	struct trace_contexts trace_contexts;
	struct scripts scripts;
	bool keeps_tables; /* use the cache on disk */
	struct table_cache cache;
	const char *user_rules_path; /* user rules file, or NULL */
	struct user_rules user_rules;
	struct table_store tables;
	struct verify verify;
	struct wire_frame *frames; /* kernel and user frames */
	uint64_t *stack_pointers;  /* of user frames */
	/* Counters of the stage. */
	uint64_t *n_by_words; /* stacks that the kernel has walked; NULL: none so far */
	uint64_t *n_ends[WIRE_STACK_ENDS_MAX]; /* by enum wire_stack_end */
	struct pair_map faults;		       /* (image, end) → counter of such stacks */
};

/* Callbacks of stage.h; `data` is a struct live_unwinder. */
void unwinder_init(void *data);
int unwinder_start(struct stage *stage, void *data, struct wire_hello *hello);
int unwinder_handle_sample(struct stage *stage, void *data, const void *view);
int unwinder_handle_stack_part(struct stage *stage, void *data, const void *view);
int unwinder_handle_process_context(struct stage *stage, void *data, const void *view);
int unwinder_handle_process(struct stage *stage, void *data, const void *view);
int unwinder_handle_runtime(struct stage *stage, void *data, const void *view);
int unwinder_handle_memory(struct stage *stage, void *data, const void *view);
int unwinder_handle_heap_sample(struct stage *stage, void *data, const void *view);
int unwinder_handle_image_exit(struct stage *stage, void *data, const void *view);
int unwinder_finish(struct stage *stage, void *data, enum stage_stream_end end);
void unwinder_deinit(void *data);
