/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recording that has ended, as formats are written from it: any stage or command that has a
 * settled profile can write all of them but those that follow the stream.
 */
#pragma once

#include "formats/output.h"
#include "heap/heap-profile.h"

struct export
{
	const struct profile *profile; /* settled (profile_settle()) */
	/*
	 * NULL: there is none. Of a recording of one the profile's samples are its stacks, and
	 * weigh an amount of it (heap_profile_select()).
	 */
	const struct heap *heap;
	struct view_counts *counts; /* of formats that are made of them (format.is_of_counts) */
	struct counters *counters;  /* where what is refused is counted */
	bool is_whole;		    /* the stream was not cut */
	const char *base;	    /* the data of a page to compare with; NULL: none */
	size_t base_size;
	struct output *output;
};

/* Whether the recording is of a heap. */
static inline bool export_is_heap(const struct export *export)
{
	return export->heap && heap_is_there(export->heap);
}

/* One line on what was lost, and how stacks ended, by number; false: there is no such line. */
bool export_remark(const struct export *export, uint32_t number, char *ret, size_t size);
