/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of engines, in the order in which a sample is offered to them. The last one answers
 * every sample, and is the reference that --verify compares with. A new engine is a `struct engine`
 * and a line in engines.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/counters.h"
#include "live-unwinder/engine.h"
#include "live-unwinder/table-store.h"

enum {
	ENGINES_MAX = 4,
	ENGINE_ANSWERED = 0, /* of struct engine's unwind(): other outcomes are its reasons */
	ENGINE_OUTCOMES_MAX = 8,
};

/* What engines work with; borrowed. */
struct engine_sources {
	struct elf_cache *files;
	struct table_store *tables;
};

struct engine {
	const char *name; /* of --engine, and in statistics */
	bool uses_tables; /* which have the rules of the user, too */
	bool is_of_host;  /* it unwinds only what was recorded on a machine of this kind */
	/* In statistics: why it leaves a sample to the next engine, by outcome. */
	const char *reasons[ENGINE_OUTCOMES_MAX];
	const char *left_to; /* the group of samples that the engine before it left to it */

	int (*new)(const struct engine_sources *sources, void **ret); /* 0 or -ENOMEM */
	void (*free)(void *state);
	/* Fills in frames, end and failed_image; with a reason as the outcome they mean nothing. */
	unsigned int (*unwind)(void *state, struct unwinding *unwinding);
	/* Cuts another engine's answer where this one knows better; NULL: it never does. */
	void (*cut)(void *state, struct unwinding *unwinding);
	void (*forget_process)(void *state, struct process *process);
	void (*forget_image)(void *state, uint64_t image);
};

extern const struct engine engine_of_tables, engine_of_elfutils;

struct engines {
	size_t first; /* index of the first one that is asked */
	void *states[ENGINES_MAX];
	uint64_t *n_answered[ENGINES_MAX], *n_left[ENGINES_MAX][ENGINE_OUTCOMES_MAX];
};

/* NULL: there is none of that name. `ret_index` is for engines.first. */
const struct engine *engines_find(const char *name, size_t *ret_index);

/* The first engine that is asked, and the reference. */
const struct engine *engines_first(const struct engines *engines);
const struct engine *engines_reference(void);

/* Counters get their places in the order of the list. 0 or -ENOMEM; to be deinited in any case. */
int engines_init(struct engines *engines, const struct engine_sources *sources,
		 struct counters *counters);
void engines_deinit(struct engines *engines);

/* The answer of the first engine that has one; true: it was not the reference. */
bool engines_unwind(struct engines *engines, struct unwinding *unwinding);

/* The answer of the engine of tables, which alone unwinds by unwinding->words. */
void engines_unwind_by_words(struct engines *engines, struct unwinding *unwinding);

/* The answer of the reference. */
void engines_unwind_by_reference(struct engines *engines, struct unwinding *unwinding);

void engines_forget_process(struct engines *engines, struct process *process);
void engines_forget_image(struct engines *engines, uint64_t image);
