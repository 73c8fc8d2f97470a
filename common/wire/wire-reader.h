/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records out of a descriptor: one buffer, filled by large reads, handed out in place. What
 * wire_reader_next() gives lies in the buffer until the next wire_reader_fill(). A recorded stream
 * that is our own file is mapped instead, and its bytes are not copied.
 */
#pragma once

#include "common/wire/wire.h"

enum { WIRE_READER_SIZE = 1024 * 1024 }; /* a full pipe's worth, and at least one record */

struct wire_reader {
	int fd;		   /* borrowed */
	char *buffer;	   /* or the whole file */
	size_t start, end; /* what was read and not yet handed out */
	size_t ahead;	   /* of a record behind the next one, which was asked for already */
	size_t map_size;   /* of the file; 0: it is not mapped */
	bool at_end;
	uint32_t peer_minor; /* of the hello that was read */
	uint64_t n_bytes;    /* handed out */
	uint64_t n_records;
	uint64_t totals[WIRE_TYPE_MAX];
};

int wire_reader_init(struct wire_reader *reader, int fd);
void wire_reader_deinit(struct wire_reader *reader);

/*
 * Reads once, waiting if need be; the views handed out before are void. 0; at the end of input
 * `at_end` is set; -errno, -EINTR among them.
 */
int wire_reader_fill(struct wire_reader *reader);

/* The next record; WIRE_E_MORE: fill first; any other outcome: the stream is damaged here. */
enum wire_outcome wire_reader_next(struct wire_reader *reader, struct wire_raw *ret);

/*
 * The first record as a hello; WIRE_E_MAGIC: what comes is no stackpipe stream; WIRE_E_VERSION;
 * else as wire_reader_next().
 */
enum wire_outcome wire_reader_hello(struct wire_reader *reader, struct wire_hello *ret);
