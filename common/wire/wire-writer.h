/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records into a descriptor, gathered: small ones are encoded into a buffer, large blobs and
 * records that are only passed on stay where they lie until the next flush writes all of it with
 * one system call. Whoever hands out memory to borrow flushes before it changes.
 */
#pragma once

#include <sys/uio.h>

#include "common/wire/wire.h"

enum {
	WIRE_WRITER_SIZE = 512 * 1024, /* of the buffer: at least one record */
	WIRE_WRITER_PARTS = 512,       /* pieces gathered at most; the kernel takes 1024 */
	WIRE_WRITER_MARK =
		192 * 1024, /* flush once so many bytes wait; not more than a pipe holds */
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
	bool (*gives_up)(void); /* asked when a signal interrupts a write; may be NULL */
};

int wire_writer_init(struct wire_writer *writer, int fd);
void wire_writer_deinit(struct wire_writer *writer);

/*
 * Adds a record. The blob of `view`, if large, is borrowed; all else is copied. 0 or -errno;
 * -EMSGSIZE: a field is over its limit, nothing was added.
 */
int wire_writer_put(struct wire_writer *writer, enum wire_record_id id, const void *view);

/* Adds a record as it is; borrowed. */
int wire_writer_pass(struct wire_writer *writer, const struct wire_raw *raw);

/* Writes all that waits, blocking while the reader is behind. 0 or -errno. */
int wire_writer_flush(struct wire_writer *writer);
