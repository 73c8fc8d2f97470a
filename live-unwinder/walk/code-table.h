/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code of scripts that a stream has shown, by where it lay and what it was. A source emits an
 * object once, so what is known of processes that run is forgotten only if they have too much.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/base/pair-map.h"
#include "common/script/runtime-table.h"

enum { CODE_TABLE_MAX = 1 << 20 /* of all processes; beyond it all are forgotten */ };

enum {
	CODE_TRAIT_MAX = (1 << 20) - 1,
	CODE_BYTES_MAX =
		256 << 20, /* of objects whose bytes are kept; beyond it all are forgotten */
	CODE_PROCESS_BYTES_MAX = 64 << 20, /* of one process; its others are refused */
};

struct script_code_view {
	uint64_t number;
	uint32_t trait; /* what its language has to know of code, up to CODE_TRAIT_MAX; never 0 */
};

struct code_table {
	struct pair_map numbers;     /* packed: number and trait; UINT64_MAX: no code */
	struct kept_code *by_number; /* objects whose bytes are kept */
	uint64_t n_bytes;
	struct pair_map bytes_of; /* (process, 0) → how many of them are its own */
	uint64_t n_refused;
	uint64_t n_forgotten; /* how often */
};

void code_table_init(struct code_table *table);
void code_table_deinit(struct code_table *table);

/* Adds an object, which has this trait; 0: it is no code. 0 or -ENOMEM. */
int code_table_add(struct code_table *table, const struct wire_memory *record, uint64_t trait);

/* The same, and its bytes are kept. */
int code_table_keep(struct code_table *table, const struct wire_memory *record, uint64_t trait);

/* The bytes of an object by its number, until the table changes. False: they were not kept. */
bool code_table_find_bytes(const struct code_table *table, uint64_t number, struct wire_blob *ret);

/* Replaces such bytes, as many as there are, by what else is known of the object. */
void code_table_amend(struct code_table *table, uint64_t number, const void *bytes, size_t size);

/* Frees what is known of processes without an interpreter, if it may be worth it. */
void code_table_prune(struct code_table *table, const struct runtime_table *runtimes);

enum code_table_answer { CODE_IS_KNOWN, CODE_IS_UNKNOWN, CODE_IS_NONE };

/* What an object is. */
enum code_table_answer code_table_find(const struct code_table *table, uint64_t process,
				       uint64_t address, uint64_t identity,
				       struct script_code_view *ret);
