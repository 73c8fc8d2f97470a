/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program has worked out, kept on disk for the next one: a file each in a directory of the
 * user's own, found by its key, and mapped as it is. A file is trusted if nobody else could write
 * it and its checksum is right; any other one is ignored, and replaced.
 */
#pragma once

#include <stddef.h>

enum {
	KEPT_MAGIC_SIZE = 24,
	KEPT_FILES_MAX = 1024, /* of a kind */
};

#define KEPT_SIZE_MAX                                                                              \
	(1ULL << 29) /* bytes of a kind; beyond, the least recently used are removed */

/* `magic` changes with the layout or the meaning of what is kept. */
struct kept_kind {
	const char *directory, *suffix;
	char magic[KEPT_MAGIC_SIZE];
	size_t named; /* first bytes of a key by which a file is found; 0: all of them */
};

/* A mapped file, and what was kept in it. */
struct kept_file {
	void *map; /* NULL: none */
	size_t map_size;
	const void *bytes; /* aligned to 8 if the key's size is */
	size_t size;
};

/*
 * Opens $XDG_CACHE_HOME/stackpipe/DIRECTORY, created if need be. Returns a descriptor; -1: it
 * fails, or others can write to it, and nothing is kept.
 */
int kept_files_open(const struct kept_kind *kind);

/* 0; -ENOENT: there is none, or it is not trusted. A `directory` of -1 is allowed. */
int kept_file_load(int directory, const struct kept_kind *kind, const void *key, size_t key_size,
		   struct kept_file *ret);

/* The same, whatever bytes the key has behind `kind->named`. */
int kept_file_load_named(int directory, const struct kept_kind *kind, const void *key,
			 size_t key_size, struct kept_file *ret);
void kept_file_unmap(struct kept_file *file);

/* Writes a file, whole or not at all. 0 or -errno, which may be ignored. */
int kept_file_save(int directory, const struct kept_kind *kind, const void *key, size_t key_size,
		   const void *bytes, size_t size);
