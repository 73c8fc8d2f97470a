/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table engine: a lookup and three loads for each frame, through a cache of rules shared by all
 * processes. It gives elfutils' answer or none: where its tables have no answer, or a stack ends
 * unusually, the whole sample is left to elfutils.
 */
#pragma once

#include "live-unwinder/engine.h"
#include "live-unwinder/table-store.h"

/* The outcome of a sample. */
enum engine_table_outcome {
	ENGINE_TABLE_OK = 0,
	ENGINE_TABLE_E_RULE,	 /* the rule has a form that tables cannot hold */
	ENGINE_TABLE_E_REGISTER, /* needs a register that is not tracked */
	ENGINE_TABLE_E_BAD,	 /* unwind information leads nowhere */
	ENGINE_TABLE_E_PENDING,	 /* a table is not compiled yet */
	ENGINE_TABLE_OUTCOMES,
};

struct engine_table;

/* `tables` is borrowed. 0 or -ENOMEM. */
int engine_table_new(struct table_store *tables, struct engine_table **ret);
struct engine_table *engine_table_free(struct engine_table *engine);

/* Forgets a process that has exited or executed another program. */
void engine_table_forget(struct engine_table *engine, const struct process *process);

/* Forgets an image that has ended. */
void engine_table_forget_image(struct engine_table *engine, uint64_t image);

/* Fills in frames, end and failed_image, which are undefined unless the outcome is OK. */
enum engine_table_outcome engine_table_unwind(struct engine_table *engine,
					      struct unwinding *unwinding);

/* Cuts elfutils' answer where these tables know better (table-cut.h). */
void engine_table_cut(struct engine_table *engine, struct unwinding *unwinding);
