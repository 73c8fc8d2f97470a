/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The connection of this process to its reader. It is made in the first allocation, and again in a
 * forked child. No descriptor stays open.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload-source/injected/environment.h"
#include "preload-source/shared/heap-ring.h"

enum connection_phase {
	CONNECTION_NONE, /* not tried: a new program, or a forked child of a traced one */
	CONNECTION_TRYING,
	CONNECTION_RECORDING,
	CONNECTION_SILENT, /* no reader, or it refused this process */
};

/* In memory of its own that is zero in a forked child, however it was forked. */
struct connection {
	uint32_t phase;	    /* enum connection_phase */
	uint32_t epoch;	    /* unique among this process and those it was forked from; 0: none */
	uint32_t n_closing; /* threads that are unmapping code */
	uint32_t required;  /* of heap_region.wanted: older lists may have unmapped code */
	uint64_t n_missed;  /* calls during the attempt */
};

extern struct connection *connection;

/* Valid while recording. In a forked child it is stale: only `connection` is zero there. */
struct connected {
	struct heap_region *region;
	const char *tables;
	uint32_t *doorbell; /* number of rings; whether the reader sleeps */
	const struct heap_mappings *mappings;
	struct scratch *scratches; /* one per ring */
};

extern struct connected connected;

/* Whether this process is recorded; the first call tries to connect. */
bool connection_is_recording(void);

/* Reports to the reader that this process runs untraced, as it has a sanitizer. */
void connection_send_sanitizer(const struct environment *environment);

/* Stops recording in all threads: the reader has stopped. */
void connection_end(void);

/* Wakes the reader, if it sleeps. */
void connection_ring_doorbell(void);

/*
 * Waits until the reader has reread the mappings, and all records committed before; false: timed
 * out, or waiting is not allowed.
 */
bool connection_ask(void);
