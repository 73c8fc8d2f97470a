/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A finished recording, as formats are written from it. Any stage or command that has a settled
 * profile can write all formats except those that follow the stream.
 */
#pragma once

#include "formats/output.h"
#include "heap/heap-profile.h"

struct export_attribute {
	const char *key, *value;
};

struct export
{
	const struct profile *profile; /* settled (profile_settle()) */
	/*
	 * NULL: no heap. With one, the profile's samples are its stacks, weighing one of its
	 * amounts (heap_profile_select()).
	 */
	const struct heap *heap;
	struct view_counts *counts; /* for formats with format.is_of_counts */
	struct counters *counters;  /* counts what is refused */
	bool is_whole;		    /* the stream was not cut */
	bool has_ids; /* of processes and threads, where a format may leave them out */
	const struct export_attribute *attributes; /* of resources, as the user gave them */
	size_t n_attributes;
	const char *base; /* the data of a page to compare with; NULL: none */
	size_t base_size;
	struct output *output;
};

/* Whether the recording is of a heap. */
static inline bool export_is_heap(const struct export *export)
{
	return export->heap && heap_is_there(export->heap);
}

/* The number-th line about losses and end reasons; false: there is no such line. */
bool export_remark(const struct export *export, uint32_t number, char *ret, size_t size);
