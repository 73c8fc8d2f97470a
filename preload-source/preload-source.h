/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options and state of preload-source. */
#pragma once

#include "common/image-server/image-server.h"
#include "common/source/command.h"
#include "common/source/images.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "preload-source/listener.h"
#include "preload-source/process-opener.h"
#include "preload-source/reader/doorbell.h"
#include "preload-source/reader/shared-tables.h"
#include "preload-source/reader/traced.h"
#include "preload-source/target-check.h"

enum preload_children {
	PRELOAD_COMMAND_ONLY,
	PRELOAD_FOLLOW, /* children, too */
};

struct preload_source_options {
	struct traced_policy policy;
	enum preload_children children;
	char **command;
};

struct preload_source {
	struct preload_source_options options;
	struct target target;
	struct command command;
	struct process_opener opener;
	struct image_server server;
	struct images images;
	struct processes processes;
	struct shared_tables shared;
	struct heap_encoder encoder;
	struct listener listener;
	struct doorbell doorbell;
	struct traced *traced;	       /* linked list */
	size_t n_traced, n_discovered; /* n_traced: now; n_discovered: ever */
	uint64_t n_sanitizers;	       /* programs that run untraced, as they have a sanitizer */
	uint64_t start_time, checked_at;
};

/*
 * start.c: open() opens all that the sandbox will deny and fills in the hello; start() checks it in
 * the sandbox. Errors were reported by stage_error() (-ECANCELED) or are -errno.
 */
int preload_source_open(struct stage *stage, void *self);
void preload_source_describe_sandbox(const void *self, struct sandbox *sandbox);
int preload_source_start(struct stage *stage, void *self, struct wire_hello *hello);

/* recorder.c: proc_view_opened's find_maps, for traced processes. */
int preload_source_find_maps(uint32_t pid, void *self);

/* Records until all traced programs have ended. */
int preload_source_run(struct stage *stage, void *self);

/* Waits until no stage needs images any more. */
int preload_source_close(struct stage *stage, void *self);
void preload_source_deinit(void *self);
