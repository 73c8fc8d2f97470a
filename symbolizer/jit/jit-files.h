/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files in which a process's JIT compilers describe their code: a jitdump, which it has mapped,
 * and a perf map. They may grow, and have any size: in a live stream they are read in pieces
 * between samples, in a share of the time (common/base/reading-share.h). Unread code gets no name.
 */
#pragma once

#include "common/base/reading-share.h"
#include "common/image-server/image-client.h"
#include "common/jit/jitdump.h"
#include "common/stream/identity.h"
#include "symbolizer/jit/perf-map.h"

enum { JIT_MESSAGES_MAX = 8 }; /* processes named in warnings */

#define JIT_USER_UNKNOWN ((uid_t)-1)

#define JIT_PATIENCE_MIN_NS 10000000ULL	  /* before a missing file is looked for again */
#define JIT_PATIENCE_MAX_NS 3200000000ULL /* maximum; doubles up to it */

/* Shared by the files of all processes. */
struct jit_reader {
	struct stage *stage;	     /* borrowed */
	struct identity *identity;   /* borrowed */
	struct image_client *client; /* borrowed */
	struct reading_share share;
	unsigned int n_messages;
};

/* A file that may not exist yet. */
struct awaited_file {
	int fd; /* -1: not open */
	uint64_t asked_at, patience;
};

struct jit_files {
	uint64_t process;
	uint64_t map_image;  /* image server's number for the perf map; 0: unset */
	uint64_t dump_image; /* 0: none mapped */
	struct awaited_file map_file, dump_file;
	struct perf_map map;
	struct jitdump dump;
	uid_t user;	      /* owner of the files; JIT_USER_UNKNOWN until one is open */
	uint64_t read_at;     /* last time; in CLOCK_MONOTONIC, like the next */
	uint64_t known_at;    /* everything written before this was read */
	uint64_t n_of_others; /* counted records of other processes in its jitdump */
	bool is_paced;	      /* a live stream: reads only in its share of the time */
	bool is_refused;      /* too large: not read any more, and all dropped */
};

void jit_files_init(struct jit_files *files, const struct jit_reader *reader, uint64_t process);
void jit_files_deinit(struct jit_files *files);

/*
 * Reads on, if it is this process's turn and data from before `time` is missing: everything, or a
 * piece in a live stream. After a read error known data stays. False: no memory; refuse the files.
 */
bool jit_files_read(struct jit_files *files, struct jit_reader *reader, uint64_t time);

/* The last read: as many pieces as are allowed. The rest is counted and reported. */
bool jit_files_read_last(struct jit_files *files, struct jit_reader *reader);

/* Whether everything written before a time was read. */
bool jit_files_knows(const struct jit_files *files, uint64_t time);

/* Drops the files of a process with too much code. Emitted names stay. */
void jit_files_refuse(struct jit_files *files, struct jit_reader *reader);

/* Bytes of memory, at most, and bytes read. */
size_t jit_files_memory(const struct jit_files *files);
uint64_t jit_files_size(const struct jit_files *files);
