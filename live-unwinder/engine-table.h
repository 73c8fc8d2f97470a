/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine of compiled tables: a look-up and three loads for each frame, through a cache of rules
 * that all processes share. It answers as the engine of elfutils does or not at all: what its
 * tables cannot say, and whatever ends in an unusual way, is left to that one, with the whole
 * sample.
 */
#pragma once

#include "live-unwinder/engine.h"
#include "live-unwinder/table-store.h"

/* What became of a sample. */
enum engine_table_outcome {
	ENGINE_TABLE_OK = 0,
	ENGINE_TABLE_E_RULE,	 /* a rule that no table holds */
	ENGINE_TABLE_E_REGISTER, /* a register is needed that is not followed */
	ENGINE_TABLE_E_BAD,	 /* the information leads nowhere */
	ENGINE_TABLE_E_PENDING,	 /* a table is not ready yet */
	ENGINE_TABLE_OUTCOMES,
};

struct engine_table;

/* `tables` is borrowed. 0 or -ENOMEM. */
int engine_table_new(struct table_store *tables, struct engine_table **ret);
struct engine_table *engine_table_free(struct engine_table *engine);

/* A process is no more, or has another program. */
void engine_table_forget(struct engine_table *engine, const struct process *process);

/* An image is no more. */
void engine_table_forget_image(struct engine_table *engine, uint64_t image);

/* Fills in frames, end and failed_image; with another outcome than OK they mean nothing. */
enum engine_table_outcome engine_table_unwind(struct engine_table *engine,
					      struct unwinding *unwinding);

/*
 * Cuts the answer of elfutils at the first frame that only we know not to believe: code of which a
 * person has given a rule, that overwrites its own frame, whose unwind information its own bytes
 * contradict, or of a file that was written to since; and in front of one that no call returns to.
 */
void engine_table_cut(struct engine_table *engine, struct unwinding *unwinding);
