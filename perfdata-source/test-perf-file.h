/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: assembles a perf.data file and reads its header. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "perfdata-source/header.h"

enum {
	FILE_MAX = 1024 * 1024,
	HEADER_SIZE = 104,
	BITS_AT = 72,
	ATTRS_AT = HEADER_SIZE,
	DATA_SIZE = 32,
};

/* The file: header, attrs, ids, data, feature table, features. */
static uint8_t file[FILE_MAX];
static size_t file_size;

struct section {
	uint64_t offset, size;
};

static inline uint64_t put(const void *bytes, size_t size)
{
	assert_true(size <= FILE_MAX - file_size);
	memcpy(file + file_size, bytes, size);
	file_size += size;
	return file_size - size;
}

static inline void set_word(size_t at, uint64_t word)
{
	memcpy(file + at, &word, sizeof(word));
}

/* An attr with its number in every field that is kept. */
static inline struct perf_event_attr make_attr(uint64_t number)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = 100 + number,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ID,
		.read_format = PERF_FORMAT_ID,
		.sample_id_all = 1,
		.sample_regs_user = 0xff0fff,
		.sample_stack_user = 4096 + number,
	};
}

/* Header, `n_attrs` attrs of `attr_size` bytes with two ids each, and data. */
static inline void begin_file(uint64_t attr_size, uint64_t n_attrs)
{
	uint64_t entry_size = attr_size + sizeof(struct section);

	memset(file, 0, sizeof(file));
	memcpy(file, "PERFILE2", 8);
	set_word(8, HEADER_SIZE);
	set_word(16, entry_size);
	set_word(24, ATTRS_AT);
	set_word(32, n_attrs * entry_size);
	file_size = ATTRS_AT + n_attrs * entry_size;
	for (uint64_t i = 0; i < n_attrs; i++) {
		struct perf_event_attr attr = make_attr(i);
		size_t at = ATTRS_AT + i * entry_size;
		uint64_t ids[] = { 1000 + i, 2000 + i };

		memset(file + at, 0xff, attr_size); /* fields of a newer kernel */
		memcpy(file + at, &attr, attr_size < sizeof(attr) ? attr_size : sizeof(attr));
		set_word(at + attr_size, put(ids, sizeof(ids)));
		set_word(at + attr_size + 8, sizeof(ids));
	}
	set_word(40, file_size);
	set_word(48, DATA_SIZE);
	file_size += DATA_SIZE;
}

struct feature {
	uint64_t id;
	const void *bytes;
	size_t size;
};

/* Feature numbers must ascend. */
static inline void put_features(const struct feature *features, size_t n)
{
	size_t table_at = file_size;

	file_size += n * sizeof(struct section);
	for (size_t i = 0; i < n; i++) {
		file[BITS_AT + features[i].id / 8] |= 1 << features[i].id % 8;
		set_word(table_at + i * 16, put(features[i].bytes, features[i].size));
		set_word(table_at + i * 16 + 8, features[i].size);
	}
}

static struct perf_header header;
static struct input input;

/* Reads the first `size` bytes of the file; returns the outcome. */
static inline int read_part(size_t size)
{
	char path[64];
	int fd = memfd_create("perf.data", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, size), size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(input_open(&input, path), 0);
	close(fd);
	return header_read(&header, &input);
}

static inline int read_file(void)
{
	return read_part(file_size);
}

static inline void close_file(void)
{
	header_deinit(&header);
	input_close(&input);
}

static inline void assert_outcome(int outcome)
{
	assert_int_equal(read_file(), outcome);
	close_file();
}

static inline const struct event *event_of(uint64_t id)
{
	/* A sample with the layout of make_attr(): ip, tid, id. */
	const struct {
		struct perf_event_header header;
		uint64_t words[3];
	} sample = { { PERF_RECORD_SAMPLE, 0, sizeof(sample) }, { 1, 2, id } };

	return events_of_record(&header.events, &sample.header);
}
