/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes frames of Sysprof's capture format (its sysprof-capture-types.h): packed, little-endian
 * here, each a multiple of 8 bytes and below 64 KiB, unused bytes zero. Sysprof 48 to 51 read the
 * results; comments name the traps that are avoided.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/stream/syscap-format.h"
#include "formats/output.h"

enum {
	SYSCAP_ADDRESSES_MAX = 1024, /* Sysprof silently drops samples with more */
	SYSCAP_FRAME_MAX = 65528,
	SYSCAP_CHUNK_MAX = SYSCAP_FRAME_MAX - 284 - 8, /* bytes of a file in a frame */
	SYSCAP_FRAMES_AN_INDEX = 64 * 1024,
	SYSCAP_COUNTER_INT64 = 0,
	SYSCAP_COUNTER_DOUBLE = 1,
};

struct syscap {
	struct output *output; /* borrowed */
	uint64_t n_frames;
	uint64_t last_index; /* offset of the newest index frame; 0: none */
};

/* The process and time of a frame. pid -1: none, which most frame types do not allow. */
struct syscap_time {
	uint64_t time;
	int32_t pid;
	int16_t cpu;
};

/* All of these return 0 or -errno of the output. */
int syscap_begin(struct syscap *syscap, struct output *output, uint64_t start_time,
		 uint64_t start_unix_time);
/* `size` 0 is a free. */
int syscap_put_allocation(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  uint64_t address, uint64_t size, const uint64_t *addresses, size_t n);
int syscap_put_sample(struct syscap *syscap, struct syscap_time when, int32_t tid,
		      const uint64_t *addresses, size_t n);
int syscap_put_process(struct syscap *syscap, struct syscap_time when, const char *name);
int syscap_put_exit(struct syscap *syscap, struct syscap_time when);

/* `build_id`: in hexadecimal, or NULL. */
int syscap_put_map(struct syscap *syscap, struct syscap_time when, uint64_t start, uint64_t end,
		   uint64_t offset, uint64_t inode, const char *path, const char *build_id);
int syscap_put_jitmap(struct syscap *syscap, struct syscap_time when, uint64_t address,
		      const char *name);

/* Writes a piece of a file. Times of a file's pieces must not decrease. */
int syscap_put_chunk(struct syscap *syscap, struct syscap_time when, const char *path,
		     const void *data, size_t size, int is_last);
int syscap_put_metadata(struct syscap *syscap, struct syscap_time when, const char *id,
			const char *value);
/* `when` is the mark's beginning. */
int syscap_put_mark(struct syscap *syscap, struct syscap_time when, uint64_t duration,
		    const char *group, const char *name, const char *message);
int syscap_put_log(struct syscap *syscap, struct syscap_time when, uint16_t severity,
		   const char *domain, const char *text);

struct syscap_counter {
	const char *category, *name, *description;
	uint32_t id; /* from 1 on */
	int64_t value;
	uint32_t divisor; /* above 1: Sysprof gets the quotient */
};

/* Defines counters; sets up to eight of them. */
int syscap_define_counters(struct syscap *syscap, struct syscap_time when,
			   const struct syscap_counter *counters, size_t n);
int syscap_set_counters(struct syscap *syscap, struct syscap_time when,
			const struct syscap_counter *counters, size_t n);

/* Writes the capture's end time to the header, which promises a SYSCAP_STATE_ID at the end. */
int syscap_set_end_time(struct syscap *syscap, uint64_t end_time);
