/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload-source/reader/forgery.h"
#include "preload-source/reader/mapping-encoder.h"
#include "preload-source/reader/traced.h"

int traced_begin(const struct traced_process *process, const struct traced_policy *policy,
		 struct traced **ret)
{
	struct traced *traced = calloc(1, sizeof(*traced));
	int r;

	if (!traced) {
		close(process->pid_fd);
		if (process->maps_fd >= 0)
			close(process->maps_fd);
		return -ENOMEM;
	}
	traced->process.pid = process->pid;
	traced->own_pid = process->own_pid;
	traced->pid_fd = process->pid_fd;
	traced->maps_fd = process->maps_fd;
	traced->memory.fd = -1;
	r = shared_memory_make(&traced->memory, "stackpipe-rings", heap_region_size(),
			       SHARED_WITH_WRITERS);
	if (r < 0) {
		traced_free(traced);
		return r;
	}
	traced->time_map.clock = time_map_best_clock();
	time_map_look(&traced->time_map);
	traced->last_ns = traced->time_map.to_ns;
	traced->region = traced->memory.bytes;
	traced->when_full = policy->when_full;
	traced->sampling = traced->first_sampling = policy->sampling;
	*traced->region = (struct heap_region){
		.magic = HEAP_MAGIC,
		.version = HEAP_VERSION,
		.clock = traced->time_map.clock,
		.when_full = policy->when_full,
		.max_frames = policy->max_frames,
		.block_ns = policy->block_ns,
		.sampling = policy->sampling,
		.mappings = policy->classes == TRACED_BLOCKS_AND_MAPPINGS,
		.state = HEAP_RECORDING,
	};
	if (getrandom(&traced->region->seed, sizeof(traced->region->seed), 0) < 0)
		traced->region->seed = traced->last_ns;
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++)
		traced->rings[i].reader.ring = heap_ring_at(traced->region, i);
	*ret = traced;
	return 0;
}

struct traced *traced_free(struct traced *traced)
{
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++) {
		free(traced->rings[i].stacks);
		mapped_ranges_deinit(&traced->rings[i].unmapped);
	}
	mapped_ranges_deinit(&traced->mapped);
	shared_memory_deinit(&traced->memory);
	close(traced->pid_fd);
	if (traced->maps_fd >= 0)
		close(traced->maps_fd);
	free(traced);
	return NULL;
}

/*
 * Output times never decrease, and time_map_ns() clamps times before the previous look, so late
 * records are recognized by the rings' clock only.
 */
static uint64_t pass_time(struct traced *traced, struct heap_encoder *encoder, uint64_t time)
{
	uint64_t ns = time_map_ns(&traced->time_map, time);

	if (time < traced->last_time)
		++*encoder->n_late;
	else
		traced->last_time = time;
	if (ns > traced->last_ns)
		traced->last_ns = ns;
	return traced->last_ns;
}

static int emit_lost(struct traced *traced, struct heap_encoder *encoder, uint32_t tid,
		     const struct heap_lost *lost, uint64_t n_calls)
{
	const struct wire_heap_lost record = {
		.time = traced->last_ns,
		.process = traced->process.upid,
		.tid = tid,
		.n_allocated = lost->n_allocated,
		.n_freed = lost->n_freed,
		.n_bytes = lost->n_bytes,
		.n_calls = n_calls,
		.blocked = lost->blocked_ns,
	};
	int r = heap_encoder_flush(encoder);

	stage_miss(encoder->stage, "ring-full",
		   lost->n_allocated + lost->n_freed); /* no overflow: each is limited */
	stage_miss(encoder->stage, "unheard", n_calls);
	*counters_get(&encoder->stage->counters, "heap", "blocked-ms") +=
		lost->blocked_ns / NANOSECONDS_A_MILLISECOND;
	return r < 0 ? r : stage_put(encoder->stage, WIRE_RECORD_heap_lost, &record);
}

static int take_lost(struct traced *traced, struct heap_encoder *encoder, struct traced_ring *ring)
{
	const struct heap_lost *lost = &ring->next.lost;
	struct heap_lost *emitted = &ring->emitted;

	emitted->n_allocated += lost->n_allocated;
	emitted->n_freed += lost->n_freed;
	emitted->n_bytes += lost->n_bytes;
	emitted->blocked_ns += lost->blocked_ns;
	if (heap_lost_is_possible(emitted))
		return emit_lost(traced, encoder, ring->tid, lost, 0);
	forgery_found(traced, ring);
	return 0;
}

/* Handles records that are no events: stacks, and records about the ring itself. */
static int take_other(struct traced *traced, struct heap_encoder *encoder, struct traced_ring *ring)
{
	const struct ring_record *record = &ring->next;
	uint64_t ns;

	switch (record->kind) {
	case HEAP_RECORD_STACK:
		return heap_encoder_stack(encoder, &traced->process, record, traced->last_ns,
					  &ring->stacks[record->slot]);
	case HEAP_RECORD_RAW:
		ns = time_map_ns(&traced->time_map, record->time);
		return heap_encoder_raw(encoder, &traced->process, record, ring->tid, ns,
					&ring->raw);
	case HEAP_RECORD_THREAD:
		ring->tid = record->tid;
		ring->name[0] = 0;
		traced->has_new_threads = true;
		return 0;
	case HEAP_RECORD_LOST:
		return take_lost(traced, encoder, ring);
	case HEAP_RECORD_SAMPLING:
		ring->interval = record->sampling & HEAP_TIME_MASK;
		if (!forgery_is_sampling_ours(traced, ring->interval))
			forgery_found(traced, ring);
		return 0;
	default:
		return 0;
	}
}

static bool is_event(enum heap_record kind)
{
	return kind >= HEAP_RECORD_ALLOCATED && kind <= HEAP_RECORD_KEPT;
}

/* Whether the process has requested a reread of its mappings since the last one. */
static bool is_behind(const struct traced *traced)
{
	return __atomic_load_n(&traced->region->wanted, __ATOMIC_ACQUIRE) != traced->looked_at;
}

/* Reads a ring's next event into `next`, if there is one, and handles the records before it. */
static int advance(struct traced *traced, struct heap_encoder *encoder, struct traced_ring *ring)
{
	int r = 0;

	ring->has_next = false;
	/* A raw stack may have any code, even code mapped since the last reread. */
	while (r == 0 &&
	       !(ring_reader_peek(&ring->reader) == HEAP_RECORD_RAW && is_behind(traced)) &&
	       ring_reader_next(&ring->reader, &ring->next, encoder->words) == RING_OK) {
		if (is_event(ring->next.kind)) {
			ring->has_next = true;
			break;
		}
		r = take_other(traced, encoder, ring);
	}
	return r;
}

/* A mapping over MAPPED_RANGES_MAX is counted as lost, and its unmapping is not emitted. */
static int hand_out_mapping(struct traced *traced, struct heap_encoder *encoder,
			    struct traced_ring *ring, const struct heap_event *event)
{
	const struct mapping_encoder mappings = { encoder, &traced->process, &traced->mapped,
						  &ring->unmapped };
	const struct heap_lost lost = { .n_allocated = 1, .n_bytes = event->size };
	int r = mapping_encoder_take(&mappings, ring->next.kind, event);

	return r == -ENOSPC ? emit_lost(traced, encoder, ring->tid, &lost, 0) : r;
}

static int hand_out(struct traced *traced, struct heap_encoder *encoder, struct traced_ring *ring)
{
	static const enum heap_event_kind kinds[] = {
		[HEAP_RECORD_ALLOCATED] = HEAP_EVENT_ALLOCATED,
		[HEAP_RECORD_FREED] = HEAP_EVENT_FREED,
		[HEAP_RECORD_RELEASED] = HEAP_EVENT_RELEASED,
		[HEAP_RECORD_RESTORED] = HEAP_EVENT_RESTORED,
	};
	const struct ring_record *record = &ring->next;
	struct heap_event event = {
		.tid = ring->tid,
		.stack = record->slot == HEAP_SLOT_RAW ? ring->raw : ring->stacks[record->slot],
		.time = pass_time(traced, encoder, record->time),
		.address = record->address,
		.size = record->size,
	};

	if (forgery_is_beyond_all(traced, record))
		forgery_found(traced, ring);
	if (record->kind >= HEAP_RECORD_MAPPED)
		return hand_out_mapping(traced, encoder, ring, &event);
	event.kind = kinds[record->kind];
	event.interval = ring->interval;
	return heap_encoder_event(encoder, &traced->process, &event);
}

/* Moves the first ring to its place in the order; mostly it swaps with the second one. */
static void sort_first(struct traced_ring **rings, uint32_t n)
{
	struct traced_ring *first = rings[0];
	uint32_t i = 0;

	for (; i + 1 < n && rings[i + 1]->next.time < first->next.time; i++)
		rings[i] = rings[i + 1];
	rings[i] = first;
}

/* Sorts the rings that have an event, oldest first. Returns their number. */
static uint32_t sort_by_time(struct traced_ring *const *rings, uint32_t n, struct traced_ring **ret)
{
	uint32_t n_sorted = 0, first = HEAP_RINGS_MAX;

	for (uint32_t i = 0; i < n; i++) {
		if (!rings[i]->has_next)
			continue;
		ret[--first] = rings[i];
		sort_first(ret + first, ++n_sorted);
	}
	memmove(ret, ret + first, n_sorted * sizeof(*ret));
	return n_sorted;
}

/* Collects the rings with records, with the first event of each read. 0 or -errno. */
static int look(struct traced *traced, struct heap_encoder *encoder, struct traced_ring **ret,
		uint32_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (uint32_t i = 0; i < HEAP_RINGS_MAX && r == 0; i++) {
		struct traced_ring *ring = &traced->rings[i];

		if (ring_reader_look(&ring->reader) == RING_E_EMPTY && !ring->has_next)
			continue;
		if (!ring->stacks)
			ring->stacks = calloc(HEAP_SLOTS, sizeof(*ring->stacks));
		if (!ring->stacks)
			return -ENOMEM;
		if (!ring->has_next)
			r = advance(traced, encoder, ring);
		ret[(*ret_n)++] = ring;
	}
	return r;
}

/* New calls that found no ring, or that interrupted a recording. */
static uint64_t count_unrecorded(struct traced *traced)
{
	uint64_t n = forgery_count_on(traced, &traced->region->n_unrecorded, &traced->n_unrecorded);

	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++) {
		struct traced_ring *ring = &traced->rings[i];

		if (ring->stacks) /* else the ring was never used */
			n += forgery_count_on(traced, &ring->reader.ring->n_nested,
					      &ring->n_nested);
	}
	return n;
}

static int emit_unrecorded(struct traced *traced, struct heap_encoder *encoder)
{
	uint64_t n = count_unrecorded(traced);

	return n ? emit_lost(traced, encoder, 0, &(struct heap_lost){ 0 }, n) : 0;
}

/* Whether the ring was three quarters full at the last look. */
static bool is_nearly_full(const struct ring_reader *reader)
{
	return reader->end - reader->ring->tail > HEAP_RING_WORDS / 4 * 3;
}

/*
 * Halves the sampling rate if a ring is nearly full although it was filled at the current rate. A
 * ring filled at an older rate does not show the effect of the last change.
 */
static void adapt(struct traced *traced, struct traced_ring *const *rings, uint32_t n)
{
	uint64_t interval = traced->sampling;

	if (traced->when_full != HEAP_ADAPT || interval >= HEAP_ADAPT_MAX)
		return;
	for (uint32_t i = 0; i < n; i++) {
		if (rings[i]->interval != interval || !is_nearly_full(&rings[i]->reader))
			continue;
		traced->sampling = traced_next_sampling(interval);
		__atomic_store_n(&traced->region->sampling, traced->sampling, __ATOMIC_RELAXED);
		return;
	}
}

/* Whether a ring was not read to its end because of a raw stack. */
static bool has_raw_left(struct traced_ring *const *rings, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!rings[i]->has_next && ring_reader_peek(&rings[i]->reader) == HEAP_RECORD_RAW)
			return true;
	return false;
}

/* Emits the events of all rings by time, up to the time of this drain. */
static int merge(struct traced *traced, struct heap_encoder *encoder,
		 struct traced_ring *const *rings, uint32_t n_rings)
{
	struct traced_ring *sorted[HEAP_RINGS_MAX];
	uint32_t n = sort_by_time(rings, n_rings, sorted);
	int r = 0;

	while (r == 0 && n && sorted[0]->next.time <= traced->time_map.to) {
		struct traced_ring *ring = sorted[0];
		uint64_t until = traced->time_map.to;

		if (n > 1 && sorted[1]->next.time < until)
			until = sorted[1]->next.time;
		do {
			r = hand_out(traced, encoder, ring);
			if (r == 0)
				r = advance(traced, encoder, ring);
		} while (r == 0 && ring->has_next && ring->next.time <= until);
		if (ring->has_next)
			sort_first(sorted, n);
		else
			memmove(sorted, sorted + 1, --n * sizeof(*sorted));
	}
	return r;
}

int traced_drain(struct traced *traced, struct heap_encoder *encoder, uint32_t looked_at)
{
	struct traced_ring *rings[HEAP_RINGS_MAX];
	uint32_t n;
	int r;

	traced->looked_at = looked_at;
	time_map_look(&traced->time_map);
	forgery_find_times_ahead(traced);
	r = look(traced, encoder, rings, &n);
	adapt(traced, rings, n);
	if (r == 0)
		r = merge(traced, encoder, rings, n);
	for (uint32_t i = 0; i < n; i++)
		ring_reader_release(&rings[i]->reader);
	forgery_find_broken(traced);
	if (r == 0)
		r = emit_unrecorded(traced, encoder);
	if (r == 0)
		r = forgery_emit(traced, encoder);
	if (r == 0)
		r = heap_encoder_flush(encoder);
	return r < 0 || !has_raw_left(rings, n) ? r : -EAGAIN;
}

bool traced_is_due(const struct traced *traced)
{
	if (is_behind(traced))
		return true;
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++)
		if (ring_reader_is_due(&traced->rings[i].reader))
			return true;
	return false;
}

int traced_name_threads(struct traced *traced, struct processes *processes)
{
	int r = 0;

	traced->has_new_threads = false;
	if (traced->own_pid != traced->process.pid) /* TIDs of another PID namespace */
		return 0;
	for (uint32_t i = 0; i < HEAP_RINGS_MAX && r == 0; i++) {
		struct traced_ring *ring = &traced->rings[i];
		char name[PROC_NAME_MAX];

		if (!ring->tid)
			continue;
		proc_read_thread_name(traced->process.pid, ring->tid, name);
		if (!name[0] || !strcmp(name, ring->name))
			continue;
		strcpy(ring->name, name);
		r = processes_name_thread(processes, traced->process.pid, ring->tid, name,
					  traced->last_ns);
	}
	return r;
}

static bool has_thread(uint32_t pid, uint32_t tid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32, pid, tid);
	return stat(path, &status) == 0 || errno != ENOENT;
}

void traced_recycle(struct traced *traced)
{
	if (traced->own_pid != traced->process.pid) /* TIDs of another PID namespace */
		return;
	for (uint32_t i = 0; i < HEAP_RINGS_MAX; i++) {
		struct traced_ring *ring = &traced->rings[i];
		uint32_t tid = __atomic_load_n(&ring->reader.ring->owner, __ATOMIC_ACQUIRE);

		if (!tid || ring->has_next || ring_reader_look(&ring->reader) != RING_E_EMPTY)
			continue;
		if (!has_thread(traced->process.pid, tid))
			__atomic_store_n(&ring->reader.ring->owner, 0, __ATOMIC_RELEASE);
	}
}

/* Emits losses without a LOST record: the ring was full to the end. */
static int emit_rest(struct traced *traced, struct heap_encoder *encoder,
		     const struct traced_ring *ring, const struct heap_lost *lost)
{
	const struct heap_lost rest = {
		.n_allocated = lost->n_allocated - ring->emitted.n_allocated,
		.n_freed = lost->n_freed - ring->emitted.n_freed,
		.n_bytes = lost->n_bytes - ring->emitted.n_bytes,
		.blocked_ns = lost->blocked_ns - ring->emitted.blocked_ns,
	};

	return rest.n_allocated || rest.n_freed ? emit_lost(traced, encoder, ring->tid, &rest, 0)
						: 0;
}

int traced_finish(struct traced *traced, struct heap_encoder *encoder)
{
	/* The mappings cannot be reread any more. */
	uint32_t wanted = __atomic_load_n(&traced->region->wanted, __ATOMIC_ACQUIRE);
	int r = traced_drain(traced, encoder, wanted);

	if (r == -EAGAIN) /* still running: another thread has made a request */
		r = traced_drain(traced, encoder,
				 __atomic_load_n(&traced->region->wanted, __ATOMIC_ACQUIRE));
	if (r == -EAGAIN)
		r = 0;
	/* All records read so far were written before this look. */
	time_map_look(&traced->time_map);
	forgery_find_times_ahead(traced);
	if (!__atomic_load_n(&traced->region->n_claims, __ATOMIC_RELAXED))
		stage_warn(encoder->stage,
			   "process %" PRIu32
			   " connected but recorded nothing: is its address space limited "
			   "(ulimit -v)?",
			   traced->process.pid);
	for (uint32_t i = 0; i < HEAP_RINGS_MAX && r == 0; i++) {
		const struct traced_ring *ring = &traced->rings[i];
		struct heap_lost lost = heap_lost_of(ring->reader.ring);

		if (ring->reader.is_broken)
			++*counters_get(&encoder->stage->counters, "refused", "damaged-rings");
		else if (!forgery_has_counted_on(&lost, &ring->emitted))
			traced->is_forged = true;
		else
			r = emit_rest(traced, encoder, ring, &lost);
	}
	return r < 0 ? r : forgery_emit(traced, encoder);
}
