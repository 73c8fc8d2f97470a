/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files in which a process's JIT compilers tell of their code: a jitdump, which it has mapped,
 * and a perf map. They grow while we read, and may be of any size: of a live stream they are read
 * in pieces, between which samples go on, and in a share of the time (common/base/reading-share.h).
 * What is not read yet is not guessed at: names come when it is known what they are.
 */
#pragma once

#include "common/stream/identity.h"
#include "common/image-server/image-client.h"
#include "common/jit/jitdump.h"
#include "common/base/reading-share.h"
#include "symbolizer/jit/perf-map.h"

enum { JIT_MESSAGES_MAX = 8 }; /* processes that are called by their names */

#define JIT_USER_UNKNOWN ((uid_t)-1)

#define JIT_PATIENCE_MIN_NS 10000000ULL	  /* before a file that was not there is asked for again */
#define JIT_PATIENCE_MAX_NS 3200000000ULL /* it grows up to this */

/* Who reads the files of all processes. */
struct jit_reader {
	struct stage *stage;	     /* borrowed, as are the next two */
	struct identity *identity;   /* ... */
	struct image_client *client; /* ... */
	struct reading_share share;
	unsigned int n_messages;
};

/* A file that may not be there yet. */
struct awaited_file {
	int fd; /* -1: not open */
	uint64_t asked_at, patience;
};

struct jit_files {
	uint64_t process;
	uint64_t map_image;  /* by which the image server knows the perf map; 0: not met yet */
	uint64_t dump_image; /* 0: it has mapped no jitdump */
	struct awaited_file map_file, dump_file;
	struct perf_map map;
	struct jitdump dump;
	uid_t user;	      /* whose they are; JIT_USER_UNKNOWN until one is open */
	uint64_t read_at;     /* last; of CLOCK_MONOTONIC, as the next */
	uint64_t known_at;    /* all that was written before this is known */
	uint64_t n_of_others; /* records of its jitdump that were counted */
	bool is_paced;	      /* there is a share of the time for them: the stream is live */
	bool is_refused;      /* they took too much: nothing is read any more, nor known */
};

void jit_files_init(struct jit_files *files, const struct jit_reader *reader, uint64_t process);
void jit_files_deinit(struct jit_files *files);

/*
 * Reads on, if what was written before `time` is not known yet and it is its turn: all there is, or
 * of a live stream a piece. What cannot be read any more stays as it was. False: there is no
 * memory, and they are to be refused.
 */
bool jit_files_read(struct jit_files *files, struct jit_reader *reader, uint64_t time);

/* The same for the last time: as many pieces as are allowed. What is left is counted and told. */
bool jit_files_read_last(struct jit_files *files, struct jit_reader *reader);

/* Whether all that was written before a time was read. */
bool jit_files_knows(const struct jit_files *files, uint64_t time);

/* Their process tells more than can be kept. What was told of it stays. */
void jit_files_refuse(struct jit_files *files, struct jit_reader *reader);

/* Bytes that they take, at most, and that were taken of them. */
size_t jit_files_memory(const struct jit_files *files);
uint64_t jit_files_size(const struct jit_files *files);
