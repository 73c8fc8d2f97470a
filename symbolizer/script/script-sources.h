/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the lines of scripts begin: functions of JavaScript say where they begin in the text of
 * their script, and that comes in parts (struct walk_source_part), in any order. All of it is the
 * target's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wire.h"

enum {
	SCRIPT_SOURCE_MAX = 16 << 20,	     /* bytes of a text; a longer one has no lines */
	SCRIPT_SOURCES_BYTES_MAX = 64 << 20, /* of what is known of all; more are refused */
};

/* What has a text. */
struct script_source_key {
	uint64_t process, owner, identity;
};

/* Where something begins in a text: all zero: it has none. */
struct script_origin {
	struct script_source_key source;
	uint32_t position;  /* characters in front of it */
	int32_t first_line; /* of the text, from 0 on */
};

struct script_sources {
	struct script_source *by_key;
	size_t n_bytes;
	uint64_t n_refused; /* parts: damaged, or there was no room */
	uint64_t n_whole;   /* texts of which all parts have come */
};

void script_sources_deinit(struct script_sources *sources);

/* Whether a record is a part of a text. */
bool script_sources_is_part(const struct wire_memory *record);

/* Takes a part. 0 or -ENOMEM. */
int script_sources_take(struct script_sources *sources, const struct wire_memory *record);

/* Whether all parts of a text are there. */
bool script_sources_has(const struct script_sources *sources, const struct script_source_key *key);

/* The line where something begins, from 1 on; 0: not known, at least not yet. */
uint32_t script_sources_find_line(const struct script_sources *sources,
				  const struct script_origin *origin);

/* A process has ended. */
void script_sources_forget(struct script_sources *sources, uint64_t process);
