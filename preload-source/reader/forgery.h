/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process can write to the memory by which it tells of its heap, by mischief or by mistake. What
 * it writes there may look right, but mostly something cannot be: no ring goes back, no block is
 * larger than all addresses, nothing happens tomorrow. Then nothing that the process has told is
 * believed, from its beginning on: what was forged before may only have been forged better.
 */
#pragma once

#include "preload-source/reader/traced.h"

/* A record of this ring cannot be true: it is read no further. */
void forgery_found(struct traced *traced, struct traced_ring *ring);

/* Whether we have ever told the process to sample so. */
bool forgery_is_sampling_ours(const struct traced *traced, uint64_t sampling);

/* Adds to what the process has allocated: whether that is more than any one can. */
bool forgery_is_beyond_all(struct traced *traced, const struct ring_record *record);

/* How much more the process has counted, in its memory, than when this was last asked. */
uint64_t forgery_count_on(struct traced *traced, const uint64_t *count, uint64_t *last);

/*
 * Right behind a look at the time: what was read before it cannot have happened after it. It would
 * keep its ring from being read on for as long as somebody likes.
 */
void forgery_find_times_ahead(struct traced *traced);

/* Rings with what is no record. */
void forgery_find_broken(struct traced *traced);

/* Whether a ring counts all losses that its records have told. */
bool forgery_has_counted_on(const struct heap_lost *lost, const struct heap_lost *emitted);

/* Tells it, once, if something was found. 0 or -errno of the output. */
int forgery_emit(struct traced *traced, struct heap_encoder *encoder);
