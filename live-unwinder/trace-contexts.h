/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The trace contexts of threads: decodes what samples carry (OTEP 4947) by what their process has
 * published (process-context.h), and emits each context once, before the first stack that has it. A
 * context that has not been used for long is forgotten, and gets another number when it returns.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/base/lru.h"
#include "common/stage/stage.h"

enum {
	TRACE_CONTEXTS_KNOWN_MAX = 8192,	/* with numbers, at one time */
	TRACE_CONTEXTS_PROCESSES_MAX = 1 << 14, /* with a context of their own, at one time, */
	TRACE_CONTEXTS_BYTES_MAX = 32 << 20,	/* and with so many bytes of keys */
};

struct trace_contexts {
	struct published_context *published; /* by process */
	struct known_context *known;	     /* by content */
	struct lru by_use;
	uint64_t n_numbers;
	uint64_t n_published;	     /* process contexts so far */
	size_t n_bytes;		     /* of all keys */
	uint64_t n_refused;	     /* process contexts: damaged, or of too many processes */
	uint64_t n_resource_refused; /* attributes that have no text, or are too many */
	uint64_t n_attributes_refused;
};

void trace_contexts_deinit(struct trace_contexts *contexts);

/*
 * Takes a process context, and emits it with the attributes of the resource. 0, -ENOMEM or -errno
 * of the output.
 */
int trace_contexts_publish(struct trace_contexts *contexts, struct stage *stage,
			   const struct wire_process_context *record);

/* A process has ended. */
void trace_contexts_forget(struct trace_contexts *contexts, uint64_t process);

/*
 * The number of a sample's context; 0: it has none. Counts what it was in the group
 * "thread-contexts". 0 or -errno: of the output, or of memory.
 */
int trace_contexts_find(struct trace_contexts *contexts, struct stage *stage,
			const struct wire_sample *sample, uint64_t *ret_number);

void trace_contexts_count(const struct trace_contexts *contexts, struct stage *stage);
