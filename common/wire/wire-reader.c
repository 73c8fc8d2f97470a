/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/zero-pages.h"
#include "common/file/owned-file.h"
#include "common/wire/wire-reader.h"

enum {
	CACHE_LINE = 64,
	PREFETCHED = 16 * CACHE_LINE, /* measured: a CPU has hardly more loads in flight */
};

/* Returns false if the input is not a file, or one that others may change. */
static bool map_file(struct wire_reader *reader)
{
	off_t at = lseek(reader->fd, 0, SEEK_CUR);
	char first[ZSTD_INPUT_MAGIC_SIZE];
	struct stat status;
	void *map;

	if (fstat(reader->fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    !owned_file_is_ours(&status) || at < 0 || at % sizeof(uint64_t) || at >= status.st_size)
		return false;
	if (pread(reader->fd, first, sizeof(first), at) == sizeof(first) &&
	    zstd_input_is(first, sizeof(first)))
		return false;
	map = owned_file_map_sequential(reader->fd, status.st_size);
	if (map == MAP_FAILED)
		return false;
	reader->buffer = map;
	reader->map_size = status.st_size;
	reader->start = reader->end = at;
	return true;
}

int wire_reader_init(struct wire_reader *reader, int fd)
{
	*reader = (struct wire_reader){ .fd = fd };
	if (map_file(reader))
		return 0;
	reader->buffer = zero_pages_get(WIRE_READER_SIZE);
	return reader->buffer ? 0 : -ENOMEM;
}

void wire_reader_deinit(struct wire_reader *reader)
{
	if (reader->map_size)
		munmap(reader->buffer, reader->map_size);
	else
		zero_pages_give_back(reader->buffer, WIRE_READER_SIZE);
	reader->buffer = NULL;
	if (reader->compressed)
		zstd_input_deinit(reader->compressed);
	free(reader->compressed);
	reader->compressed = NULL;
}

/*
 * Advances by as much as one read(2). Does not populate pages (MADV_POPULATE_READ): that takes
 * longer than the page faults, each of which maps many pages.
 */
static int fill_from_map(struct wire_reader *reader)
{
	size_t left = reader->map_size - reader->end;

	map_pass_come_to(&reader->pass, reader->buffer, reader->start);
	reader->at_end = left == 0;
	reader->end += left < WIRE_READER_SIZE ? left : WIRE_READER_SIZE;
	return 0;
}

/* Once the first bytes are there: whether they are compressed. 0 or -ENOMEM. */
static int begin(struct wire_reader *reader)
{
	const char *first = reader->buffer + reader->start;
	size_t size = reader->end - reader->start;

	if (size < ZSTD_INPUT_MAGIC_SIZE)
		return 0;
	reader->has_begun = true;
	if (!zstd_input_is(first, size))
		return 0;
	reader->compressed = calloc(1, sizeof(*reader->compressed));
	reader->end = reader->start;
	return reader->compressed ? zstd_input_init(reader->compressed, first, size) : -ENOMEM;
}

static ssize_t read_more(struct wire_reader *reader, void *to, size_t size)
{
	ssize_t n;

	if (reader->compressed)
		return zstd_input_read(reader->compressed, reader->fd, to, size);
	n = read(reader->fd, to, size);
	return n < 0 ? -errno : n;
}

int wire_reader_fill(struct wire_reader *reader)
{
	size_t kept = reader->end - reader->start;
	ssize_t n;

	if (reader->map_size)
		return fill_from_map(reader);
	/* Moves only the beginning of a record, to make room: the buffer is mostly empty here. */
	if (kept == 0 || WIRE_READER_SIZE - reader->end < WIRE_RECORD_MAX) {
		memmove(reader->buffer, reader->buffer + reader->start, kept);
		reader->start = reader->ahead = 0;
		reader->end = kept;
	}
	n = read_more(reader, reader->buffer + reader->end, WIRE_READER_SIZE - reader->end);
	if (n == -EAGAIN) /* another process set O_NONBLOCK on the shared file */
		return poll(&(struct pollfd){ reader->fd, POLLIN, 0 }, 1, -1) < 0 ? -errno : 0;
	if (n == -EBADMSG && reader->compressed)
		return WIRE_E_COMPRESSED;
	if (n < 0)
		return n;
	reader->at_end = n == 0;
	reader->end += n;
	return reader->has_begun ? 0 : begin(reader);
}

/*
 * Prefetches the end of the next record and the beginning of the one behind it: mostly they are not
 * in a cache, and only the size of the record before gives their address.
 */
static void look_ahead(struct wire_reader *reader)
{
	const struct wire_header *header;

	if (reader->ahead < reader->start)
		reader->ahead = reader->start;
	header = (const void *)(reader->buffer + reader->ahead);
	if (wire_check_header(header, reader->end - reader->ahead) != WIRE_OK)
		return;
	reader->ahead += header->size;
	for (size_t i = 0; i < PREFETCHED; i += CACHE_LINE)
		__builtin_prefetch((const char *)header + header->size - CACHE_LINE + i);
}

enum wire_outcome wire_reader_next(struct wire_reader *reader, struct wire_raw *ret)
{
	const void *at = reader->buffer + reader->start;
	enum wire_outcome outcome = wire_check_header(at, reader->end - reader->start);

	if (outcome)
		return outcome;
	ret->header = at;
	reader->start += ret->header->size;
	look_ahead(reader);
	reader->n_bytes += ret->header->size;
	reader->n_records++;
	reader->totals[ret->header->type]++;
	return WIRE_OK;
}

/* Whether the bytes read so far can still become a hello. */
static enum wire_outcome check_magic(const struct wire_reader *reader)
{
	const struct wire_header *header = (const void *)(reader->buffer + reader->start);
	size_t size = reader->end - reader->start;
	enum wire_outcome outcome = wire_check_header(header, size);
	const uint64_t *fields = (const void *)(header + 1);

	if (outcome != WIRE_OK && outcome != WIRE_E_MORE)
		return WIRE_E_MAGIC;
	if (size >= sizeof(*header) && header->type != WIRE_RECORD_hello)
		return WIRE_E_MAGIC;
	if (size >= sizeof(*header) + 8 && fields[0] != WIRE_MAGIC)
		return WIRE_E_MAGIC;
	if (size >= sizeof(*header) + 16 && fields[1] != WIRE_VERSION_MAJOR)
		return WIRE_E_VERSION;
	return outcome;
}

enum wire_outcome wire_reader_hello(struct wire_reader *reader, struct wire_hello *ret)
{
	const uint64_t *fields = (const void *)(reader->buffer + reader->start + 8);
	enum wire_outcome outcome = check_magic(reader);
	struct wire_raw raw;

	if (outcome)
		return outcome;
	/* The third field is the minor version, which decoding the record itself needs. */
	if (reader->end - reader->start >= 8 + 3 * sizeof(*fields))
		reader->peer_minor = fields[2] > UINT32_MAX ? UINT32_MAX : fields[2];
	outcome = wire_reader_next(reader, &raw);
	if (!outcome)
		outcome = wire_decode(wire_type(WIRE_RECORD_hello), raw.header, raw.header->size,
				      reader->peer_minor, ret);
	return outcome;
}
