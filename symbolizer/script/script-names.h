/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code in languages of interpreters, as memory records have it, until its process ends. */
#pragma once

#include "common/script/runtime-table.h"
#include "symbolizer/script/script-sources.h"

enum {
	SCRIPT_NAMES_BYTES_MAX = 256 << 20, /* of all names and line tables; more are refused */
	SCRIPT_ANONYMOUS_SIZE = 32,
	SCRIPT_LATE_MAX = 1 << 16, /* places whose lines may come; others are named without */
};

/* A place that was named before its line was known. */
struct late_place {
	uint64_t image, offset;
};

struct script_names {
	struct runtime_table runtimes;
	struct script_code *by_number;
	struct script_process *by_process;
	struct script_sources sources;
	char anonymous[SCRIPT_ANONYMOUS_SIZE]; /* the name of the last function without one */
	struct late_place *late;
	size_t n_late, n_late_asked; /* of which so many were asked for again, */
	uint64_t n_whole;	     /* when there were so many texts */
	size_t n_bytes;
	uint64_t n_refused; /* records: damaged, or there was no room */
};

void script_names_deinit(struct script_names *names);

/* Each applies the record of that name. 0 or -ENOMEM. */
int script_names_take_process(struct script_names *names, const struct wire_process *record);
int script_names_take_runtime(struct script_names *names, const struct wire_runtime *record);
int script_names_take_memory(struct script_names *names, const struct wire_memory *record);

/* A process has ended. */
void script_names_forget(struct script_names *names, uint64_t process);

/*
 * Adds name, bounds, file and line to a place in the image of scripts, if they are known; borrowed
 * until the next call.
 */
void script_names_find(struct script_names *names, struct wire_symbol *symbol);

/* The next place whose line has become known since it was found without; false: there is none. */
bool script_names_take_late(struct script_names *names, struct wire_symbol *ret);
