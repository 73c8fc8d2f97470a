/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jitdumps made for tests, record by record. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MADE_LOAD, MADE_MOVE, MADE_DEBUG_INFO, MADE_CLOSE, MADE_UNWINDING_INFO };

struct made_dump {
	char bytes[256 * 1024];
	size_t size;
};

struct made_line {
	uint64_t address;
	uint32_t line, column;
	const char *file;
};

static inline void made_put(struct made_dump *made, const void *bytes, size_t size)
{
	assert(size <= sizeof(made->bytes) - made->size);
	memcpy(made->bytes + made->size, bytes, size);
	made->size += size;
}

static inline void made_put32(struct made_dump *made, uint32_t number)
{
	made_put(made, &number, sizeof(number));
}

static inline void made_put64(struct made_dump *made, uint64_t number)
{
	made_put(made, &number, sizeof(number));
}

static inline void made_put_header(struct made_dump *made, uint64_t flags)
{
	made_put32(made, 0x4a695444);
	made_put32(made, 1);
	made_put32(made, 40);
	made_put32(made, 62);
	made_put32(made, 0);
	made_put32(made, 4711);
	made_put64(made, 99);
	made_put64(made, flags);
}

/* Begins a record of any type; made_end_record() fills in its size. */
static inline size_t made_begin_record(struct made_dump *made, uint32_t id, uint64_t time)
{
	size_t at = made->size;

	made_put32(made, id);
	made_put32(made, 0);
	made_put64(made, time);
	return at;
}

static inline void made_end_record(struct made_dump *made, size_t at)
{
	uint32_t size = made->size - at;

	memcpy(made->bytes + at + 4, &size, sizeof(size));
}

/* Makes the size in a record's header wrong. */
static inline void made_lie_about_size(struct made_dump *made, size_t at, uint32_t size)
{
	memcpy(made->bytes + at + 4, &size, sizeof(size));
}

static inline size_t made_put_load(struct made_dump *made, uint64_t time, uint64_t start,
				   uint64_t size, uint64_t index, const char *name)
{
	size_t at = made_begin_record(made, MADE_LOAD, time);

	made_put32(made, 4711);
	made_put32(made, 4712);
	made_put64(made, start);
	made_put64(made, start);
	made_put64(made, size);
	made_put64(made, index);
	made_put(made, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size && size < 4096; i++)
		made_put(made, "\x90", 1);
	made_end_record(made, at);
	return at;
}

static inline void made_put_move(struct made_dump *made, uint64_t time, uint64_t from, uint64_t to,
				 uint64_t index)
{
	size_t at = made_begin_record(made, MADE_MOVE, time);

	made_put32(made, 4711);
	made_put32(made, 4712);
	made_put64(made, to);
	made_put64(made, from);
	made_put64(made, to);
	made_put64(made, 16);
	made_put64(made, index);
	made_end_record(made, at);
}

static inline size_t made_put_lines(struct made_dump *made, uint64_t start,
				    const struct made_line *lines, uint64_t n)
{
	size_t at = made_begin_record(made, MADE_DEBUG_INFO, 1);

	made_put64(made, start);
	made_put64(made, n);
	for (uint64_t i = 0; i < n; i++) {
		made_put64(made, lines[i].address);
		made_put32(made, lines[i].line);
		made_put32(made, lines[i].column);
		made_put(made, lines[i].file, strlen(lines[i].file) + 1);
	}
	made_end_record(made, at);
	return at;
}
