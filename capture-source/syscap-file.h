/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Sysprof capture as a list of its frames in the order of their times, and what is looked up in
 * it: the names of jitmap entries, metadata, embedded files. Nothing in it is trusted: each frame
 * that is in the list is whole, and its texts end within it.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/stream/syscap-format.h"

enum {
	SYSCAP_FRAMES_MAX = 1 << 28,
	SYSCAP_JITMAP_MAX = 1 << 22,
	SYSCAP_FILES_MAX = 4096,
	SYSCAP_FILES_BYTES_MAX = 256 * 1024 * 1024, /* of all together, as they are embedded */
};

/* How a capture ends, by what its writer has said of that. */
enum syscap_file_end {
	SYSCAP_FILE_WHOLE,   /* Sysprof's own say nothing: then this, too */
	SYSCAP_FILE_STOPPED, /* whoever has written it says that something is missing */
	SYSCAP_FILE_CUT,     /* what was to stand last is not there */
	SYSCAP_FILE_TORN,    /* it ends with something that is no frame */
};

struct syscap_item {
	int64_t time;
	uint64_t offset; /* of the frame */
};

struct syscap_embedded_file {
	char path[256];
	char *data;
	size_t size;
	bool is_whole;
};

struct syscap_file {
	const char *data; /* borrowed */
	size_t size;
	struct syscap_item *items;
	size_t n_items;
	struct pair_map jitmap; /* (address, 0) → offset of its name in the data */
	struct syscap_embedded_file *files;
	size_t n_files;
	uint64_t n_skipped;  /* frames that are of no use here: counters, marks, allocations, … */
	uint64_t n_refused;  /* that contradict themselves, or are beyond the limits */
	uint64_t last_frame; /* offset of the last one that is whole, 0: there is none */
	enum syscap_file_end end;
};

/* Whether this is such a file at all, and written by a machine like this one. */
bool syscap_file_is(const char *data, size_t size);

/* Reads all of it. 0 or -ENOMEM. */
int syscap_file_init(struct syscap_file *file, const char *data, size_t size);
void syscap_file_deinit(struct syscap_file *file);

static inline const struct syscap_file_header *syscap_file_header(const struct syscap_file *file)
{
	return (const void *)file->data;
}

static inline const struct syscap_frame *syscap_file_frame(const struct syscap_file *file, size_t i)
{
	return (const void *)(file->data + file->items[i].offset);
}

/* The name of a jitmap entry; NULL: there is none for that address. */
const char *syscap_file_jitmap(const struct syscap_file *file, uint64_t address);

/* The value of the last metadata of that id; NULL: there is none. */
const char *syscap_file_metadata(const struct syscap_file *file, const char *id);

/* An embedded file that is whole, by the name without ".gz"; NULL: there is none. */
const struct syscap_embedded_file *syscap_file_embedded(const struct syscap_file *file,
							const char *path);
