/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what a process publishes (OTEP 4719), finds where its threads have their context (OTEP
 * 4947), and its interpreter (runtime.h), in a helper without rights: it has the process's memory
 * and files, as descriptors, and nothing else. Memory can make a reader wait for ever, and files
 * can be anything.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/wire/wire.h"
#include "perf-source/bpf/context-place.h"
#include "perf-source/context/runtime.h"

enum {
	CONTEXT_READER_IMAGES_MAX = 255, /* of a process */
	CONTEXT_READER_PATIENCE_MS = 2000,
	CONTEXT_ADDRESSES_MAX = 4,
};

/* What is known of a process: mappings with the name of a context, and files. */
struct context_hints {
	uint64_t addresses[CONTEXT_ADDRESSES_MAX];
	size_t n;
	bool may_have_runtime; /* it maps a file that may hold an interpreter */
};

/* A file that the process has mapped: `start` is the address of `offset` in it. */
struct context_image {
	int fd; /* borrowed */
	uint64_t start, offset;
	uint64_t image; /* its number */
};

/* What the helper has found. */
struct context_answer {
	int error; /* of the context: 0; -ENOENT: none is published; -EAGAIN: it is being changed */
	uint64_t published;
	struct context_place place; /* CONTEXT_PLACE_UNKNOWN: threads have none */
	struct runtime runtime;	    /* kind "": none is known */
	uint32_t payload_size;
	char payload[WIRE_PROCESS_CONTEXT_MAX];
};

/* A helper at work; zero: none. */
struct context_reader {
	pid_t pid;
	int ended_fd;		       /* readable once it has ended; -1: that is not known */
	uint64_t give_up_at;	       /* CLOCK_MONOTONIC */
	struct context_answer *answer; /* shared with the helper */
};

/*
 * Starts a helper for a process of which `hints` are known; `memory` is an open /proc/PID/mem. 0 or
 * -errno, with no helper.
 */
int context_reader_begin(struct context_reader *reader, int memory,
			 const struct context_hints *hints, const struct context_image *images,
			 size_t n_images);

/*
 * Whether the helper is done: 0, and reader->answer is settled until context_reader_end(). -EAGAIN:
 * not yet; -ETIMEDOUT: it took too long; -EIO: it died.
 */
int context_reader_look(struct context_reader *reader);

/* Ends the helper. False: a file system keeps it from ending, and it is left alone. */
bool context_reader_end(struct context_reader *reader);
