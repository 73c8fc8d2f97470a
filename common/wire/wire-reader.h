/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads records from a descriptor: large reads fill one buffer, and records are returned in place,
 * valid until the next wire_reader_fill(). A recorded stream in our own file is mapped instead, and
 * a stream that begins like a frame of zstd is decompressed.
 */
#pragma once

#include "common/file/map-pass.h"
#include "common/file/zstd-input.h"
#include "common/wire/wire.h"

enum { WIRE_READER_SIZE = 1024 * 1024 }; /* a full pipe, and at least one record */

struct wire_reader {
	int fd;		   /* borrowed */
	char *buffer;	   /* or the whole mapped file */
	size_t start, end; /* read, but not returned yet */
	size_t ahead;	   /* offset of the last record that was prefetched */
	size_t map_size;   /* 0: the file is not mapped */
	struct map_pass pass;
	struct zstd_input *compressed; /* NULL: it is not */
	bool has_begun;		       /* that is known */
	bool at_end;
	uint32_t peer_minor; /* minor version of the hello */
	uint64_t n_bytes;    /* returned */
	uint64_t n_records;
	uint64_t totals[WIRE_TYPE_MAX];
};

int wire_reader_init(struct wire_reader *reader, int fd);
void wire_reader_deinit(struct wire_reader *reader);

/*
 * Reads once, blocking if need be, and invalidates earlier views. 0, WIRE_E_COMPRESSED, or -errno,
 * also -EINTR; sets `at_end` at the end of input.
 */
int wire_reader_fill(struct wire_reader *reader);

/* The next record. WIRE_E_MORE: fill first; any other error: the stream is damaged here. */
enum wire_outcome wire_reader_next(struct wire_reader *reader, struct wire_raw *ret);

/*
 * The first record, the hello. WIRE_E_MAGIC: the input is not a stackpipe stream; WIRE_E_VERSION:
 * it is one of another major version; else as wire_reader_next().
 */
enum wire_outcome wire_reader_hello(struct wire_reader *reader, struct wire_hello *ret);
