/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "common/base/zero-pages.h"
#include "common/wire/wire-writer.h"

int wire_writer_init(struct wire_writer *writer, int fd)
{
	*writer = (struct wire_writer){ .fd = fd };
	writer->buffer = zero_pages_get(WIRE_WRITER_SIZE);
	return writer->buffer ? 0 : -ENOMEM;
}

void wire_writer_deinit(struct wire_writer *writer)
{
	zero_pages_give_back(writer->buffer, WIRE_WRITER_SIZE);
	writer->buffer = NULL;
	if (writer->compressed)
		zstd_output_deinit(writer->compressed);
	free(writer->compressed);
	writer->compressed = NULL;
}

int wire_writer_compress(struct wire_writer *writer, int level)
{
	writer->compressed = calloc(1, sizeof(*writer->compressed));
	return writer->compressed ? zstd_output_init(writer->compressed, level,
						     WIRE_WRITER_MARK + WIRE_RECORD_MAX)
				  : -ENOMEM;
}

/* Joins pieces that are adjacent in memory. */
static void add_part(struct wire_writer *writer, const void *data, size_t size)
{
	struct iovec *last = writer->n_parts ? &writer->parts[writer->n_parts - 1] : NULL;

	if (last && (char *)last->iov_base + last->iov_len == data)
		last->iov_len += size;
	else
		writer->parts[writer->n_parts++] = (struct iovec){ (void *)data, size };
	writer->n_waiting += size;
}

/* Flushes if need be. A record takes at most three parts. */
static int make_room(struct wire_writer *writer, size_t size)
{
	if (writer->n_parts + 3 > WIRE_WRITER_PARTS || writer->used + size > WIRE_WRITER_SIZE ||
	    writer->n_waiting >= WIRE_WRITER_MARK)
		return wire_writer_flush(writer);
	return writer->error;
}

static void count(struct wire_writer *writer, uint16_t type, size_t size)
{
	writer->n_records++;
	writer->n_bytes += size;
	writer->totals[type]++;
}

int wire_writer_put(struct wire_writer *writer, enum wire_record_id id, const void *view)
{
	const struct wire_type *type = wire_type(id);
	size_t size = wire_encoded_size(type, view);
	struct wire_gap gap;
	char *at;
	int r;

	if (!size)
		return -EMSGSIZE;
	r = make_room(writer, size);
	if (r < 0)
		return r;
	at = writer->buffer + writer->used;
	size = wire_encode(type, view, at, &gap);
	writer->used += size;
	if (gap.size) {
		add_part(writer, at, gap.offset);
		add_part(writer, gap.data, gap.size);
		add_part(writer, at + gap.offset, size - gap.offset);
	} else {
		add_part(writer, at, size);
	}
	writer->used = (writer->used + 7) & ~(size_t)7; /* without its gap: any size */
	count(writer, id, size + gap.size);
	return 0;
}

int wire_writer_pass(struct wire_writer *writer, const struct wire_raw *raw)
{
	int r = make_room(writer, 0);

	if (r < 0)
		return r;
	add_part(writer, raw->header, raw->header->size);
	count(writer, raw->header->type, raw->header->size);
	return 0;
}

/* Removes `n` written bytes from the parts; returns the first part that is left. */
static int advance(struct wire_writer *writer, int first, size_t n)
{
	writer->n_waiting -= n;
	while (n) {
		struct iovec *part = &writer->parts[first];
		size_t taken = n < part->iov_len ? n : part->iov_len;

		part->iov_base = (char *)part->iov_base + taken;
		part->iov_len -= taken;
		n -= taken;
		first += part->iov_len == 0;
	}
	return first;
}

static void write_parts(struct wire_writer *writer)
{
	int first = 0;

	while (!writer->error && first < writer->n_parts) {
		ssize_t n = writev(writer->fd, writer->parts + first, writer->n_parts - first);

		if (n >= 0)
			first = advance(writer, first, n);
		else if (errno == EAGAIN) /* another process set O_NONBLOCK on the shared file */
			n = poll(&(struct pollfd){ writer->fd, POLLOUT, 0 }, 1, -1);
		if (n < 0 && (errno != EINTR || (writer->gives_up && writer->gives_up())))
			writer->error = -errno;
	}
	writer->n_parts = 0;
	writer->n_waiting = 0;
	writer->used = 0;
}

/* Replaces the parts. */
static void set_part(struct wire_writer *writer, const struct iovec *part)
{
	writer->parts[0] = *part;
	writer->n_parts = part->iov_len > 0;
	writer->n_waiting = part->iov_len;
}

int wire_writer_flush(struct wire_writer *writer)
{
	uint64_t begun = clock_now(CLOCK_MONOTONIC);
	struct iovec piece;
	int r = 0;

	if (writer->compressed && writer->n_parts) {
		r = zstd_output_add(writer->compressed, writer->parts, writer->n_parts, &piece);
		set_part(writer, &piece);
	}
	writer->error = writer->error ?: r;
	write_parts(writer);
	blocked_time_add(&writer->blocked, begun);
	return writer->error;
}

int wire_writer_finish(struct wire_writer *writer)
{
	struct iovec piece;
	int r = wire_writer_flush(writer);

	if (r < 0 || !writer->compressed)
		return r;
	r = zstd_output_end(writer->compressed, &piece);
	set_part(writer, &piece);
	writer->error = r;
	write_parts(writer);
	if (writer->error == -EPIPE) /* the reader has all records, and has exited */
		writer->error = 0;
	return writer->error;
}
