/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Sysprof capture as a list of its frames in order of time, with lookups of jitmap entries,
 * metadata and embedded files. Nothing in it is trusted: each listed frame is complete, and its
 * texts end within it.
 */
#pragma once

#include "capture-source/capture-file.h"
#include "common/base/pair-map.h"
#include "common/stream/syscap-format.h"

enum {
	SYSCAP_FRAMES_MAX = 1 << 28,
	SYSCAP_JITMAP_MAX = 1 << 22,
	SYSCAP_FILES_MAX = 4096,
	SYSCAP_FILES_BYTES_MAX = 256 * 1024 * 1024, /* of all together, as embedded */
};

/* How a capture ends, according to its writer. */
enum syscap_file_end {
	SYSCAP_FILE_WHOLE,   /* also for Sysprof's own captures, which do not record it */
	SYSCAP_FILE_STOPPED, /* its writer recorded that something is missing */
	SYSCAP_FILE_CUT,     /* the last frame is missing */
	SYSCAP_FILE_TORN,    /* ends with something that is not a frame */
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

struct syscap_list {
	struct syscap_item *items;
	size_t n;
};

struct syscap_file {
	const struct capture_file *file; /* borrowed */
	const char *data;		 /* its bytes */
	size_t size;
	struct syscap_list frames;
	struct syscap_list descriptions; /* those of processes, metadata and files, once more */
	struct pair_map jitmap;		 /* (address, 0) → offset of its name in the data */
	struct syscap_embedded_file *files;
	size_t n_files;
	uint64_t n_skipped;  /* frames of types that are not used here */
	uint64_t n_refused;  /* frames and jitmap entries that are invalid or beyond the limits */
	uint64_t last_frame; /* offset of the last complete one; 0: none */
	enum syscap_file_end end;
};

/* Whether this is a capture, and little-endian. */
bool syscap_file_is(const char *data, size_t size);

/* Reads everything. 0 or -ENOMEM. */
int syscap_file_init(struct syscap_file *file, const struct capture_file *bytes);
void syscap_file_deinit(struct syscap_file *file);

static inline const struct syscap_file_header *syscap_file_header(const struct syscap_file *file)
{
	return (const void *)file->data;
}

static inline const struct syscap_frame *syscap_file_frame(const struct syscap_file *file,
							   const struct syscap_list *list, size_t i)
{
	return (const void *)(file->data + list->items[i].offset);
}

/* The name of a jitmap entry; NULL: there is none. */
const char *syscap_file_jitmap(const struct syscap_file *file, uint64_t address);

/* The value of the last metadata with that id; NULL: there is none. */
const char *syscap_file_metadata(const struct syscap_file *file, const char *id);

/* A complete embedded file, by its name without ".gz"; NULL: there is none. */
const struct syscap_embedded_file *syscap_file_embedded(const struct syscap_file *file,
							const char *path);
