/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detects processes that write to their rings outside the protocol, by malice or by mistake. Forged
 * data may look valid, but mostly something is impossible: a head that decreases, a block larger
 * than the address space, a time in the future. Then no data of the process is trusted, from its
 * beginning on, as earlier forgeries may only have been better.
 */
#pragma once

#include "preload-source/reader/traced.h"

/* Marks the process as forged, after a record that cannot be true, and breaks the ring. */
void forgery_found(struct traced *traced, struct traced_ring *ring);

/* Whether we ever set this mean of bytes between samples. */
bool forgery_is_sampling_ours(const struct traced *traced, uint64_t sampling);

/* Adds to the bytes allocated by the process; whether the sum exceeds HEAP_TOTAL_MAX. */
bool forgery_is_beyond_all(struct traced *traced, const struct ring_record *record);

/* Growth of a counter in the process's memory since `last`; an impossible value is a forgery. */
uint64_t forgery_count_on(struct traced *traced, const uint64_t *count, uint64_t *last);

/*
 * Call right after time_map_look(): what was read before it cannot be later (by more than a
 * second). Such a record would stop its ring from being read for as long as the forger likes.
 */
void forgery_find_times_ahead(struct traced *traced);

/* Marks the process as forged if a ring is broken. */
void forgery_find_broken(struct traced *traced);

/* Whether a ring's counters include all losses of its LOST records. */
bool forgery_has_counted_on(const struct heap_lost *lost, const struct heap_lost *emitted);

/* Emits heap_lost with FORGED, once, if the process is forged. 0 or -errno of the output. */
int forgery_emit(struct traced *traced, struct heap_encoder *encoder);
