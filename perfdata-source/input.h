/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of a perf.data file or `perf record -o -`, in order; of a file also at any offset. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	INPUT_BUFFER = 1024 * 1024,
	INPUT_AHEAD = 576, /* bytes: a sample without its stack */
};

/* Outcomes of reading a file. */
enum perfdata_outcome {
	PERFDATA_OK = 0,
	PERFDATA_END,	       /* no more data */
	PERFDATA_E_CUT,	       /* the file ends within a record or section */
	PERFDATA_E_NOT_PERF,   /* not a perf.data file */
	PERFDATA_E_COMPRESSED, /* compressed as a whole, e.g. by gzip */
	PERFDATA_E_BYTE_ORDER, /* recorded with the other byte order */
	PERFDATA_E_DAMAGED,    /* inconsistent content */
	PERFDATA_E_TOO_MANY_EVENTS,
	PERFDATA_E_UNSUPPORTED, /* e.g. an unknown compression */
};

const char *perfdata_outcome_text(enum perfdata_outcome outcome);

/* A file is mapped: its bytes are not copied and keep their address until the input is closed. */
struct input {
	int fd; /* owned, unless standard input */
	bool is_seekable;
	const char *map; /* of a file */
	bool is_our_own; /* only we can change the file */
	size_t map_size, map_at;
	char *buffer;
	size_t start, end;
	uint64_t left; /* bytes left to take; UINT64_MAX: up to the end of the file */
};

/* Path "-" is standard input. 0 or -errno. */
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

/*
 * Takes the next `size` bytes, at most INPUT_BUFFER, valid until the next call. 0, a positive
 * outcome (END: no byte is left; CUT) or -errno.
 */
int input_take(struct input *input, size_t size, const void **ret);

/* As input_take(), without consuming the bytes. */
int input_peek(struct input *input, size_t size, const void **ret);

/* Prefetches bytes of a mapped file that will be needed soon, `distance` bytes ahead. */
void input_look_ahead(const struct input *input, size_t distance);

/* Files only: continues at an offset, for `size` bytes. 0 or CUT. */
int input_seek(struct input *input, uint64_t offset, uint64_t size);

/* Files only: whether the file has these bytes. */
bool input_has(const struct input *input, uint64_t offset, uint64_t size);

/* Files only: reads bytes at any offset, all or none. 0 or CUT. */
int input_read_at(const struct input *input, uint64_t offset, void *ret, size_t size);
