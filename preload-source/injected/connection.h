/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How this process and its reader have found each other. It happens with the first allocation, and
 * again in a child that was forked; nothing stays open.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload-source/shared/heap-ring.h"
#include "preload-source/injected/environment.h"

enum connection_phase {
	CONNECTION_NONE, /* not tried: a new program, or a forked child of a traced one */
	CONNECTION_TRYING,
	CONNECTION_RECORDING,
	CONNECTION_SILENT, /* there is no reader, or it does not want us */
};

/* In memory of its own that a forked child finds zero, however it was forked. */
struct connection {
	uint32_t phase;	    /* enum connection_phase */
	uint32_t epoch;	    /* of this process and no other that its memory is a copy of; 0: none */
	uint32_t n_closing; /* threads that are about to unmap code */
	uint32_t required;  /* of heap_region.wanted: older lists may tell of code that has gone */
	uint64_t n_missed;  /* calls that came while it was tried */
};

extern struct connection *connection;

/* Valid while recording; all but `connection` itself is as it was in a forked child. */
struct connected {
	struct heap_region *region;
	const char *tables;
	uint32_t *doorbell; /* how often it was rung; whether somebody listens */
	const struct heap_mappings *mappings;
	struct scratch *scratches; /* one a ring */
};

extern struct connected connected;

/* Whether this process is recorded, which it tries to be if it has not been tried yet. */
bool connection_is_recording(void);

/* Tells the reader that this process goes on without us, as it has a sanitizer. */
void connection_send_sanitizer(const struct environment *environment);

/* The reader wants no more: all threads go on as if there had never been one. */
void connection_end(void);

/* Wakes the reader, if it sleeps. */
void connection_ring_doorbell(void);

/*
 * Waits until the reader has looked at what is mapped, and has read all that was committed before;
 * false: it has not in time, or must not be waited for.
 */
bool connection_ask(void);
