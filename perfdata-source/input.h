/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of a perf.data file, or of `perf record -o -`, in order; of a file also anywhere. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	INPUT_BUFFER = 1024 * 1024,
	INPUT_AHEAD = 576, /* bytes: a sample but for its stack */
};

/* What can be wrong with a file, and what can be done about it. */
enum perfdata_outcome {
	PERFDATA_OK = 0,
	PERFDATA_END,	       /* there is nothing more */
	PERFDATA_E_CUT,	       /* it ends in the middle of something */
	PERFDATA_E_NOT_PERF,   /* not a file of perf's */
	PERFDATA_E_COMPRESSED, /* as a whole, by a program like gzip */
	PERFDATA_E_BYTE_ORDER, /* of a machine with the other byte order */
	PERFDATA_E_DAMAGED,    /* it contradicts itself */
	PERFDATA_E_TOO_MANY_EVENTS,
	PERFDATA_E_UNSUPPORTED, /* compressed in a way that is not known here, … */
};

const char *perfdata_outcome_text(enum perfdata_outcome outcome);

/* A file is mapped: its bytes are not copied, and stay where they are until the input is closed. */
struct input {
	int fd; /* owned, but for standard input */
	bool is_seekable;
	const char *map; /* of a file */
	bool is_our_own; /* … that nobody else can change meanwhile */
	size_t map_size, map_at;
	char *buffer;
	size_t start, end;
	uint64_t left; /* bytes that may still be taken; UINT64_MAX: up to the end of the file */
};

/* "-": standard input. 0 or -errno. */
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

/*
 * The next `size` bytes, at most INPUT_BUFFER; they are there until the next call. A positive
 * outcome (END: not a single byte is left; CUT) or -errno.
 */
int input_take(struct input *input, size_t size, const void **ret);

/* Looks at the next bytes without taking them. */
int input_peek(struct input *input, size_t size, const void **ret);

/*
 * Of a file: what lies `distance` bytes behind what was taken last will be looked at soon, and is
 * in no cache yet.
 */
void input_look_ahead(const struct input *input, size_t distance);

/* Of a file: goes on from an offset, for `size` bytes. 0 or CUT. */
int input_seek(struct input *input, uint64_t offset, uint64_t size);

/* Of a file: whether it has these bytes. */
bool input_has(const struct input *input, uint64_t offset, uint64_t size);

/* Of a file: bytes from anywhere, whole. 0 or CUT. */
int input_read_at(const struct input *input, uint64_t offset, void *ret, size_t size);
