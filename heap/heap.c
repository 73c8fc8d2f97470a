/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/growing-list.h"
#include "common/base/sum.h"
#include "common/base/text.h"
#include "heap/heap.h"

int heap_init(struct heap *heap)
{
	pair_map_init(&heap->thread_of_tid, HEAP_THREADS_MAX);
	pair_map_init(&heap->process_index, HEAP_PROCESSES_MAX);
	pair_map_init(&heap->forged, HEAP_PROCESSES_MAX);
	heap->n_intervals = 1; /* 0: everything is recorded */
	return 0;
}

void heap_deinit(struct heap *heap)
{
	free(heap->stacks);
	free(heap->threads);
	for (size_t i = 0; i < heap->n_blocks; i++)
		blocks_deinit(&heap->blocks[i]);
	free(heap->blocks);
	history_deinit(&heap->history);
	pair_map_deinit(&heap->thread_of_tid);
	pair_map_deinit(&heap->process_index);
	pair_map_deinit(&heap->forged);
}

/* Mappings are page-aligned and blocks 2-byte-aligned at least, so bit 0 of a key is free. */
#define MAPPING 1ULL

static bool is_mapping(uint64_t key)
{
	return key & MAPPING;
}

static void add(struct heap_amount *amount, struct heap_amount more)
{
	sum_add(&amount->n, more.n);
	sum_add(&amount->bytes, more.bytes);
}

static void take_off(struct heap_amount *amount, struct heap_amount less)
{
	sum_take_off(&amount->n, less.n);
	sum_take_off(&amount->bytes, less.bytes);
}

static unsigned class_of(uint64_t value)
{
	return value ? 64 - __builtin_clzll(value) - (value >> 63) : 0;
}

/*
 * The weight of a block: it was sampled with probability 1 - exp(-size / interval). Deterministic,
 * so a free takes off what the allocation added.
 */
static struct heap_amount amount_of(const struct heap *heap, const struct block *block)
{
	uint64_t interval = heap->intervals[block->interval];
	double share;

	if (!interval)
		return (struct heap_amount){ HEAP_ONE, block->size };
	share = -expm1(-(double)(block->size ? block->size : 1) / interval);
	return (struct heap_amount){ llround(HEAP_ONE / share), llround(block->size / share) };
}

/* The table of blocks of a key's process. */
static struct blocks *blocks_of(const struct heap *heap, uint64_t key)
{
	return &heap->blocks[key >> BLOCKS_ADDRESS_BITS];
}

/* Makes tables of blocks for all indices up to this one. 0 or -ENOMEM. */
static int make_blocks(struct heap *heap, uint64_t index)
{
	while (heap->n_blocks <= index) {
		if (GROWING_LIST_ADD(heap->blocks, heap->n_blocks, (struct blocks){ 0 }) < 0)
			return -ENOMEM;
	}
	return 0;
}

int heap_begin(struct heap *heap, const struct wire_heap_begin *begin)
{
	uint64_t index = heap->process_index.n + 1;
	int r = make_blocks(heap, index);

	if (r == 0 && !pair_map_find(&heap->process_index, begin->process, 0))
		r = pair_map_add(&heap->process_index, begin->process, 0, index);
	heap->n_processes++;
	heap->is_sampled |= begin->interval != 0;
	if (!heap->first_time)
		heap->first_time = begin->time;
	return r == -ENOSPC ? 0 : r;
}

/* Makes stacks up to a number; missing ones in between have node 0. */
static int make_stack(struct heap *heap, uint32_t number)
{
	while (heap->n_stacks <= number) {
		if (GROWING_LIST_ADD(heap->stacks, heap->n_stacks, (struct heap_stack){ 0 }) < 0)
			return -ENOMEM;
	}
	return 0;
}

int heap_add_stack(struct heap *heap, const struct wire_heap_stack *stack, uint32_t node,
		   uint32_t thread)
{
	int r;

	if (stack->number >= HEAP_STACKS_MAX ||
	    stack->number > heap->n_stacks + HEAP_STACKS_MISSING_MAX) {
		heap->n_refused++;
		return 0;
	}
	r = make_stack(heap, stack->number);
	if (r < 0)
		return r;
	heap->stacks[stack->number].node = node;
	heap->stacks[stack->number].thread = thread;
	heap->stacks[stack->number].end = stack->end;
	heap->stacks[stack->number].process = stack->process;
	return 0;
}

/* Finds a thread's index, or adds the thread. 0 or -errno. */
static int find_thread(struct heap *heap, uint64_t process, uint32_t tid, uint32_t *ret)
{
	uint64_t *known = pair_map_find(&heap->thread_of_tid, process, tid);
	int r;

	if (known) {
		*ret = *known;
		return 0;
	}
	r = pair_map_add(&heap->thread_of_tid, process, tid, heap->n_threads);
	if (r == 0)
		r = GROWING_LIST_MAKE_ROOM(heap->threads, heap->n_threads);
	if (r < 0)
		return r;
	*ret = heap->n_threads;
	heap->threads[heap->n_threads++] = (struct heap_thread){ .process = process, .tid = tid };
	return 0;
}

static uint8_t find_interval(struct heap *heap, uint64_t interval)
{
	for (size_t i = 0; i < heap->n_intervals; i++)
		if (heap->intervals[i] == interval)
			return i;
	if (heap->n_intervals == HEAP_INTERVALS_MAX || interval > HEAP_BLOCK_MAX) {
		heap->n_refused++;
		return 0;
	}
	heap->is_sampled = true;
	heap->intervals[heap->n_intervals] = interval;
	return heap->n_intervals++;
}

/*
 * If a stack has not changed since the last peak, its amount at that peak is its live amount. It is
 * copied before the first change, so that a peak need not visit all stacks.
 */
static void note_peak(const struct heap *heap, struct heap_stack *stack)
{
	if (stack->n_peaks == heap->n_peaks)
		return;
	stack->at_peak = stack->totals.live;
	stack->n_peaks = heap->n_peaks;
}

static void keep_points(struct heap *heap, uint64_t time)
{
	while (heap->n_points_passed < HEAP_POINTS_MAX && heap->points[heap->n_points_passed] &&
	       time > heap->points[heap->n_points_passed]) {
		for (size_t i = 0; i < heap->n_stacks; i++)
			heap->stacks[i].at_points[heap->n_points_passed] =
				heap->stacks[i].totals.live;
		heap->n_points_passed++;
	}
}

static void live_on(struct heap *heap, const struct block *block, struct heap_amount amount)
{
	struct heap_stack *stack = &heap->stacks[block->stack];

	note_peak(heap, stack);
	history_note(heap, block->stack);
	add(&stack->totals.live, amount);
	add(&heap->threads[block->thread].totals.live, amount);
	add(&heap->totals.live, amount);
}

static void live_no_more(struct heap *heap, const struct block *block, struct heap_amount amount)
{
	struct heap_stack *stack = &heap->stacks[block->stack];

	note_peak(heap, stack);
	history_note(heap, block->stack);
	take_off(&stack->totals.live, amount);
	take_off(&heap->threads[block->thread].totals.live, amount);
	take_off(&heap->totals.live, amount);
}

/* Adds to the field at offset `which` of the totals of stack, thread and heap. */
static void change_all(struct heap *heap, const struct block *block, size_t which,
		       void (*change)(struct heap_amount *sum, struct heap_amount amount),
		       struct heap_amount amount)
{
	struct heap_totals *all[] = { &heap->stacks[block->stack].totals,
				      &heap->threads[block->thread].totals, &heap->totals };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		change((struct heap_amount *)((char *)all[i] + which), amount);
}

/* Drops a live block whose free was lost. */
static void forget_block(struct heap *heap, struct block *block)
{
	live_no_more(heap, block, amount_of(heap, block));
	blocks_remove(blocks_of(heap, block->key), block);
}

/* An unknown stack number becomes 0 and is counted as refused. */
static uint32_t known_stack(struct heap *heap, uint32_t number)
{
	if (number < heap->n_stacks)
		return number;
	heap->n_refused++;
	return 0;
}

static struct block make_block(struct heap *heap, uint64_t key, uint32_t thread,
			       const struct heap_event *event)
{
	return (struct block){
		.key = key,
		.time = event->time,
		.size = event->size,
		.interval = find_interval(heap, event->interval),
		.stack = known_stack(heap, event->stack),
		.thread = thread,
	};
}

/* Adds a live block; one that is already at its address is dropped. */
static int begin_block(struct heap *heap, const struct block *block)
{
	struct block *old = blocks_find(blocks_of(heap, block->key), block->key);
	int r;

	if (old)
		forget_block(heap, old);
	r = make_stack(heap, block->stack);
	if (r == 0)
		r = blocks_add(blocks_of(heap, block->key), block);
	if (r == 0)
		live_on(heap, block, amount_of(heap, block));
	return r;
}

static void count_allocated(struct heap *heap, const struct block *block, struct heap_amount amount)
{
	change_all(heap, block, offsetof(struct heap_totals, allocated), add, amount);
	if (is_mapping(block->key))
		add(&heap->mapped, amount);
}

static int take_allocated(struct heap *heap, uint64_t key, uint32_t thread,
			  const struct heap_event *event)
{
	struct block block = make_block(heap, key, thread, event);
	struct heap_amount amount = amount_of(heap, &block);
	int r = begin_block(heap, &block);

	if (r < 0)
		return r;
	count_allocated(heap, &block, amount);
	add(&heap->sizes[class_of(event->size)], amount);
	heap->threads[thread].last_key = key;
	if (heap->totals.live.bytes > heap->peak.bytes) {
		heap->peak = heap->totals.live;
		heap->peak_time = event->time;
		heap->n_peaks++;
	}
	return 0;
}

/* Where in heap_totals a block counts, too, that a thread has freed; 0: nowhere. */
static size_t short_or_foreign(const struct heap *heap, const struct block *block, uint32_t thread)
{
	/* Sampling hides allocations in between. */
	if (heap->threads[thread].last_key == block->key && !heap->intervals[block->interval])
		return offsetof(struct heap_totals, temporary);
	return block->thread != thread ? offsetof(struct heap_totals, foreign) : 0;
}

static void take_freed(struct heap *heap, uint64_t key, uint32_t thread,
		       const struct heap_event *event)
{
	struct block *found = blocks_find(blocks_of(heap, key), key), block;
	struct heap_amount amount;
	size_t as;

	if (!found) { /* allocated before recording began, or not sampled */
		heap->n_unknown_frees++;
		return;
	}
	block = *found;
	blocks_remove(blocks_of(heap, key), found);
	amount = amount_of(heap, &block);
	live_no_more(heap, &block, amount);
	add(&heap->freed, amount);
	add(&heap->threads[thread].freed, amount);
	add(&heap->lifetimes[class_of(event->time - block.time)], amount);
	as = is_mapping(key) ? 0 : short_or_foreign(heap, &block, thread); /* parts may remain */
	if (as)
		change_all(heap, &block, as, add, amount);
	if (event->kind != HEAP_EVENT_FREED) {
		heap->threads[thread].released = block;
		heap->threads[thread].released_at = event->time;
		heap->threads[thread].released_as = as;
	}
}

/* realloc(3) failed: the released block is live again. */
static int take_restored(struct heap *heap, uint64_t key, uint32_t thread)
{
	const struct heap_thread *by = &heap->threads[thread];
	struct block block = by->released;
	struct heap_amount amount;

	if (block.key != key)
		return 0;
	amount = amount_of(heap, &block);
	take_off(&heap->lifetimes[class_of(by->released_at - block.time)], amount);
	if (by->released_as)
		change_all(heap, &block, by->released_as, take_off, amount);
	live_on(heap, &block, amount);
	take_off(&heap->freed, amount);
	take_off(&heap->threads[thread].freed, amount);
	return blocks_add(blocks_of(heap, key), &block);
}

/*
 * A part of the mapping just unmapped remains. The first such part continues the mapping, smaller;
 * each further one counts as one more mapping, of bytes that were allocated before.
 */
static int take_remained(struct heap *heap, uint64_t key, uint32_t thread,
			 const struct heap_event *event)
{
	struct block *whole = &heap->threads[thread].released;
	struct block block = make_block(heap, key, thread, event);
	struct heap_amount amount = { HEAP_ONE, event->size };
	int r = begin_block(heap, &block);

	if (r < 0 || whole->stack != block.stack || !is_mapping(whole->key))
		return r;
	blocks_find(blocks_of(heap, key), key)->time = whole->time;
	if (whole->size) {
		whole->size = 0; /* later parts are further mappings */
	} else {
		count_allocated(heap, &block, (struct heap_amount){ HEAP_ONE, 0 });
		amount.n = 0;
	}
	take_off(&heap->freed, amount);
	take_off(&heap->threads[thread].freed, amount);
	take_off(&heap->lifetimes[class_of(event->time - whole->time)], amount);
	return 0;
}

static bool is_of_interest(const struct heap *heap, enum heap_event_kind kind)
{
	bool is_of_mapping = heap_event_has_size(kind) && kind != HEAP_EVENT_ALLOCATED;

	return heap->scope == HEAP_ALL || (heap->scope == HEAP_MAPPINGS_ONLY) == is_of_mapping;
}

static int take_event(struct heap *heap, uint64_t process, uint32_t thread,
		      const struct heap_event *event)
{
	uint64_t key = process << BLOCKS_ADDRESS_BITS | event->address;
	struct timeline_interval *interval = timeline_at(&heap->timeline, heap->last_time);
	int r = 0;

	if (event->size > HEAP_BLOCK_MAX) {
		heap->n_refused++;
		return 0;
	}
	switch (event->kind) {
	case HEAP_EVENT_MAPPED:
		key |= MAPPING;
		/* fall through */
	case HEAP_EVENT_ALLOCATED:
		r = take_allocated(heap, key, thread, event);
		interval->n_allocated++;
		break;
	case HEAP_EVENT_RESTORED:
		r = take_restored(heap, key, thread);
		break;
	case HEAP_EVENT_REMAINED:
		r = take_remained(heap, key | MAPPING, thread, event);
		break;
	case HEAP_EVENT_UNMAPPED:
		key |= MAPPING;
		/* fall through */
	default:
		take_freed(heap, key, thread, event);
		interval->n_freed++;
		break;
	}
	if (heap->totals.live.bytes > interval->most_bytes)
		interval->most_bytes = heap->totals.live.bytes;
	interval->last_bytes = heap->totals.live.bytes;
	interval->last_blocks = heap->totals.live.n / HEAP_ONE;
	heap->n_refused += r == -ENOSPC;
	return r == -ENOSPC ? 0 : r;
}

int heap_add_events(struct heap *heap, const struct wire_heap_events *events)
{
	struct heap_event_reader reader = heap_event_reader(events);
	uint64_t *process = pair_map_find(&heap->process_index, events->process, 0);
	struct heap_event event;
	uint32_t thread = 0;
	bool has_thread = false;
	int r = 0;

	if (!process) { /* no heap_begin, or over HEAP_PROCESSES_MAX */
		sum_add(&heap->n_refused, events->n);
		return 0;
	}
	while (r == 0 && heap_event_next(&reader, &event)) {
		if (!has_thread || heap->threads[thread].tid != event.tid)
			r = find_thread(heap, events->process, event.tid, &thread);
		has_thread = r == 0;
		heap->n_refused += r == -ENOSPC;
		if (event.time > heap->last_time) {
			keep_points(heap, event.time);
			history_pass(heap, event.time);
			heap->last_time = event.time;
		}
		if (r == 0 && is_of_interest(heap, event.kind))
			r = take_event(heap, *process, thread, &event);
		heap->n_events++;
		r = r == -ENOSPC ? 0 : r;
	}
	heap->n_damaged += reader.is_damaged;
	return r;
}

/* Earlier records may be forged, too: data counts as incomplete from first_time on. */
static int add_forger(struct heap *heap, uint64_t number, const struct process *process)
{
	struct heap_forger *forger;

	if (heap_is_forged(heap, number))
		return 0;
	heap->losses.since = heap->first_time;
	if (heap->n_forgers < HEAP_FORGERS_NAMED) {
		forger = &heap->forgers[heap->n_forgers];
		forger->pid = process ? process->pid : 0;
		text_clean_string(process ? process->name : "", forger->name, sizeof(forger->name));
	}
	heap->n_forgers++;
	return pair_map_add(&heap->forged, number, 0, 1);
}

int heap_add_lost(struct heap *heap, const struct wire_heap_lost *lost,
		  const struct process *process)
{
	struct heap_losses *losses = &heap->losses;
	int r = 0;

	if (!losses->since)
		losses->since = lost->time;
	if (lost->flags & WIRE_heap_lost_flags_FORGED)
		r = add_forger(heap, lost->process, process);
	sum_add(&losses->n_allocated, lost->n_allocated);
	sum_add(&losses->n_freed, lost->n_freed);
	sum_add(&losses->n_bytes, lost->n_bytes);
	sum_add(&losses->n_calls, lost->n_calls);
	sum_add(&losses->blocked_ns, lost->blocked);
	return r == -ENOSPC ? 0 : r;
}

/* With more forgers than `forged` holds, any process may be one. */
bool heap_is_forged(const struct heap *heap, uint64_t process)
{
	return heap->n_forgers > HEAP_PROCESSES_MAX || pair_map_find(&heap->forged, process, 0);
}

const char *heap_forgers_text(const struct heap *heap, char ret[HEAP_FORGERS_TEXT])
{
	size_t used = 0;

	*ret = 0;
	for (uint64_t i = 0; i < heap->n_forgers && i < HEAP_FORGERS_NAMED; i++)
		used += snprintf(ret + used, HEAP_FORGERS_TEXT - used, "%s%s (%" PRIu32 ")",
				 i ? ", " : "", heap->forgers[i].name, heap->forgers[i].pid);
	if (heap->n_forgers > HEAP_FORGERS_NAMED)
		snprintf(ret + used, HEAP_FORGERS_TEXT - used, " and %" PRIu64 " more",
			 heap->n_forgers - HEAP_FORGERS_NAMED);
	return ret;
}

uint64_t heap_losses_n(const struct heap_losses *losses)
{
	uint64_t n = losses->n_allocated;

	sum_add(&n, losses->n_freed);
	sum_add(&n, losses->n_calls);
	return n;
}

bool heap_is_full(const struct heap *heap)
{
	const uint64_t sums[] = {
		heap->totals.allocated.n, heap->totals.allocated.bytes, heap->losses.n_allocated,
		heap->losses.n_freed,	  heap->losses.n_bytes,		heap->losses.n_calls,
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		if (sums[i] == SUM_FULL)
			return true;
	return false;
}

void heap_end_process(struct heap *heap, uint64_t number, uint64_t time)
{
	uint64_t *process = pair_map_find(&heap->process_index, number, 0);
	struct blocks *blocks;

	if (!process)
		return;
	keep_points(heap, time);
	if (++heap->n_ended == heap->n_processes) /* take the last moment while blocks are live */
		history_end(heap, time);
	else
		history_pass(heap, time);
	blocks = &heap->blocks[*process];
	for (size_t i = 0; i < blocks->n_places; i++) {
		const struct block *block = &blocks->places[i];
		struct heap_amount amount;

		if (!block->key)
			continue;
		amount = amount_of(heap, block);
		add(&heap->stacks[block->stack].leaked, amount);
		add(&heap->leaked, amount);
		add(&heap->leaked_sizes[class_of(block->size)], amount);
		add(&heap->leaked_ages[class_of(time > block->time ? time - block->time : 0)],
		    amount);
		if (is_mapping(block->key))
			add(&heap->mapped_leaked, amount);
		live_no_more(heap, block, amount);
	}
	blocks_deinit(blocks);
}

static void end_process(uint64_t process, uint64_t zero, uint64_t index, void *arg)
{
	struct heap *heap = arg;

	heap_end_process(heap, process, heap->last_time);
}

void heap_finish(struct heap *heap, uint64_t time)
{
	if (time > heap->last_time)
		heap->last_time = time;
	keep_points(heap, UINT64_MAX);
	if (heap->n_ended < heap->n_processes)
		history_end(heap, heap->last_time);
	heap->history.is_kept = false;
	pair_map_each(&heap->process_index, end_process, heap);
	for (size_t i = 0; i < heap->n_stacks; i++)
		note_peak(heap, &heap->stacks[i]);
}

struct heap_amount heap_stack_amount(const struct heap_stack *stack, enum heap_metric metric)
{
	switch (metric) {
	case HEAP_AT_PEAK:
		return stack->at_peak;
	case HEAP_LEAKED:
		return stack->leaked;
	case HEAP_TEMPORARY:
		return stack->totals.temporary;
	case HEAP_FOREIGN:
		return stack->totals.foreign;
	case HEAP_AT_POINT_1:
		return stack->at_points[0];
	case HEAP_AT_POINT_2:
		return stack->at_points[1];
	default:
		return stack->totals.allocated;
	}
}

const char *heap_metric_name(enum heap_metric metric)
{
	static const char *const names[HEAP_METRICS] = {
		[HEAP_AT_PEAK] = "peak",	[HEAP_LEAKED] = "leaks",
		[HEAP_ALLOCATED] = "allocated", [HEAP_TEMPORARY] = "temporary",
		[HEAP_FOREIGN] = "foreign",
	};

	return names[metric];
}

const char *heap_metric_text(enum heap_metric metric)
{
	static const char *const texts[] = {
		[HEAP_AT_PEAK] = "alive at the peak",
		[HEAP_LEAKED] = "never freed",
		[HEAP_ALLOCATED] = "allocated",
		[HEAP_TEMPORARY] = "freed at once",
		[HEAP_FOREIGN] = "freed by another thread",
		[HEAP_AT_POINT_1] = "alive at the first point",
		[HEAP_AT_POINT_2] = "alive at the second point",
	};

	return texts[metric];
}
