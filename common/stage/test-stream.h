/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: a source's stage whose records are read back as lines of text. */
#pragma once

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/stage/stage.h"

enum { TEST_STREAM_TEXT = 16384 };

struct test_stream {
	struct stage stage;
	int fd, read_fd;
	struct wire_reader reader;
	char text[TEST_STREAM_TEXT];
};

static inline void test_stream_init(struct test_stream *stream)
{
	static const struct stage_program program = { .name = "test", .role = STAGE_SOURCE };
	char path[64];

	memset(stream, 0, sizeof(*stream));
	stream->stage.program = &program;
	stream->stage.quiet = true;
	stream->fd = memfd_create("stream", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", stream->fd);
	stream->read_fd = open(path, O_RDONLY | O_CLOEXEC); /* has its own file position */
	assert_true(stream->read_fd >= 0);
	assert_int_equal(wire_writer_init(&stream->stage.writer, stream->fd), 0);
	assert_int_equal(wire_reader_init(&stream->reader, stream->read_fd), 0);
}

static inline void test_stream_deinit(struct test_stream *stream)
{
	wire_writer_deinit(&stream->stage.writer);
	wire_reader_deinit(&stream->reader);
	counters_deinit(&stream->stage.counters);
	close(stream->fd);
	close(stream->read_fd);
}

/* The sum of all counters of a group. */
static inline uint64_t test_stream_sum(const struct test_stream *stream, const char *group)
{
	const struct counters *counters = &stream->stage.counters;
	uint64_t sum = 0;

	for (size_t i = 0; i < counters->n; i++)
		if (!strcmp(counters->list[i]->group, group))
			sum += counters->list[i]->value;
	return sum;
}

/* The next record written, valid until the next call. Returns its type; 0: none. */
static inline uint16_t test_stream_next(struct test_stream *stream, union wire_view *ret)
{
	struct wire_raw raw;
	enum wire_outcome outcome;

	while ((outcome = wire_reader_next(&stream->reader, &raw)) == WIRE_E_MORE) {
		assert_int_equal(wire_writer_flush(&stream->stage.writer), 0);
		assert_int_equal(wire_reader_fill(&stream->reader), 0);
		if (stream->reader.at_end)
			return 0;
	}
	assert_int_equal(outcome, WIRE_OK);
	assert_non_null(wire_type(raw.header->type));
	assert_int_equal(
		wire_decode(wire_type(raw.header->type), raw.header, raw.header->size, 0, ret),
		WIRE_OK);
	return raw.header->type;
}

static inline int test_stream_print(uint16_t type, const union wire_view *view, char *ret,
				    size_t size)
{
	switch (type) {
	case WIRE_RECORD_process:
		return snprintf(ret, size,
				"process %" PRIu64 " pid %" PRIu32 " %s of %" PRIu64 " '%s'\n",
				view->process.process, view->process.pid,
				wire_name_text(&wire_names_origin, view->process.origin),
				view->process.parent, view->process.name.data);
	case WIRE_RECORD_image_exit:
		return snprintf(ret, size, "image-exit %" PRIu64 "\n", view->image_exit.image);
	case WIRE_RECORD_process_exit:
		return snprintf(ret, size, "exit %" PRIu64 "\n", view->process_exit.process);
	case WIRE_RECORD_thread:
		return snprintf(ret, size, "thread %" PRIu64 "/%" PRIu32 " '%s'\n",
				view->thread.process, view->thread.tid, view->thread.name.data);
	case WIRE_RECORD_image:
		return snprintf(ret, size, "image %" PRIu64 " %s '%s'\n", view->image.image,
				wire_name_text(&wire_names_image_kind, view->image.kind),
				view->image.path.data);
	case WIRE_RECORD_mapping:
		return snprintf(ret, size,
				"mapping %" PRIu32 " of %" PRIu64 " %" PRIx64 "+%" PRIx64
				" at %" PRIx64 " of image %" PRIu64 "%s\n",
				view->mapping.mapping, view->mapping.process, view->mapping.start,
				view->mapping.length, view->mapping.offset, view->mapping.image,
				view->mapping.flags ? " deleted" : "");
	default:
		return snprintf(ret, size, "%s\n", wire_type(type)->name);
	}
}

/* All records since the last call, one line each. */
static inline const char *test_stream_text(struct test_stream *stream)
{
	union wire_view view;
	size_t used = 0;
	uint16_t type;

	stream->text[0] = 0;
	while ((type = test_stream_next(stream, &view))) {
		used += test_stream_print(type, &view, stream->text + used,
					  sizeof(stream->text) - used);
		assert_true(used < sizeof(stream->text));
	}
	return stream->text;
}
