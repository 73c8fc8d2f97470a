/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes records to a descriptor. Small records are encoded into a buffer; large blobs and records
 * that are passed on stay where they are, borrowed, until a flush writes all of it with one system
 * call. The owner of borrowed memory flushes before it changes.
 */
#pragma once

#include <sys/uio.h>

#include "common/base/blocked-time.h"
#include "common/file/zstd-output.h"
#include "common/wire/wire.h"

enum {
	WIRE_WRITER_SIZE = 512 * 1024, /* of the buffer: at least one record */
	WIRE_WRITER_PARTS = 512,       /* limit of gathered pieces; the kernel takes 1024 */
	WIRE_WRITER_MARK = 192 * 1024, /* flush at so many bytes: less than a pipe holds */
};

struct wire_writer {
	int fd; /* borrowed */
	char *buffer;
	size_t used; /* of the buffer */
	struct iovec parts[WIRE_WRITER_PARTS];
	int n_parts;
	size_t n_waiting; /* bytes in the parts */
	int error;	  /* the first -errno of a write; nothing is written after it */
	uint64_t n_bytes;
	uint64_t n_records;
	uint64_t totals[WIRE_TYPE_MAX];
	struct blocked_time blocked;	/* in flushes */
	struct zstd_output *compressed; /* NULL: it is not */
	bool (*gives_up)(void); /* called when a signal interrupts a write: true ends it; or NULL */
};

int wire_writer_init(struct wire_writer *writer, int fd);
void wire_writer_deinit(struct wire_writer *writer);

/*
 * Adds a record; a large blob of `view` is borrowed, the rest is copied. 0 or -errno; -EMSGSIZE: a
 * field exceeds its limit, and nothing was added.
 */
int wire_writer_put(struct wire_writer *writer, enum wire_record_id id, const void *view);

/* Adds an encoded record, which is borrowed. 0 or -errno. */
int wire_writer_pass(struct wire_writer *writer, const struct wire_raw *raw);

/* Compresses all that is written from now on: zstd_output_init(). 0 or -ENOMEM. */
int wire_writer_compress(struct wire_writer *writer, int level);

/* Writes all that was added, blocking while the pipe is full. 0 or -errno. */
int wire_writer_flush(struct wire_writer *writer);

/* After the last record: flushes, and writes what a compressed stream has at its end. 0 or -errno.
 */
int wire_writer_finish(struct wire_writer *writer);
