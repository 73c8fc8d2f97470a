/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "perf-source/unwind/kernel-walks.h"

#define SWEEP_NS (10 * NANOSECONDS_A_SECOND)
#define EXPECT_NS (NANOSECONDS_A_SECOND / 4) /* new programs soon execute most of their files */

enum { CHANGED_MAX = 1 << 16 }; /* beyond it lists are made once they are missed */

int kernel_walks_init(struct kernel_walks *walks, const struct sample_program *program,
		      struct processes *processes, struct images *images, struct table_cache cache)
{
	int r = unwind_program_open(&walks->program, program);

	if (r < 0) {
		table_cache_close(&cache);
		return r;
	}
	mapping_lists_init(&walks->lists, &walks->program);
	pair_map_init(&walks->changed, CHANGED_MAX);
	r = table_slots_init(&walks->tables, &walks->program, images, cache);
	walks->mappings = calloc(UNWIND_MAPPINGS_OF_ONE, sizeof(*walks->mappings));
	walks->processes = processes;
	early_lists_init(&walks->early, processes, &walks->lists, &walks->tables);
	if (r == 0 && walks->mappings)
		return 0;
	kernel_walks_deinit(walks);
	return -ENOMEM;
}

void kernel_walks_deinit(struct kernel_walks *walks)
{
	if (!walks->processes)
		return;
	table_slots_deinit(&walks->tables);
	mapping_lists_deinit(&walks->lists);
	pair_map_deinit(&walks->changed);
	free(walks->mappings);
	unwind_program_close(&walks->program);
	walks->processes = NULL;
}

void kernel_walks_note(struct kernel_walks *walks, uint32_t pid)
{
	if (walks->processes && !pair_map_find(&walks->changed, pid, 0))
		pair_map_add(&walks->changed, pid, 0, 0);
}

void kernel_walks_note_exec(struct kernel_walks *walks, uint32_t pid)
{
	if (!walks->processes)
		return;
	if (!early_lists_have(&walks->early, pid))
		mapping_lists_remove(&walks->lists, pid);
	kernel_walks_note(walks, pid);
}

void kernel_walks_look_ahead(struct kernel_walks *walks, const struct perf_event_header *record)
{
	early_lists_take(&walks->early, record);
}

void kernel_walks_end_look(struct kernel_walks *walks)
{
	int r = early_lists_publish(&walks->early);

	walks->error = walks->error ?: r;
}

static int note(uint32_t pid, void *arg)
{
	kernel_walks_note(arg, pid);
	return 0;
}

int kernel_walks_note_all(struct kernel_walks *walks)
{
	return walks->processes ? processes_each(walks->processes, 0, note, walks) : 0;
}

void kernel_walks_note_copied(struct kernel_walks *walks, uint32_t pid)
{
	if (walks->processes && !mapping_lists_have(&walks->lists, pid))
		kernel_walks_note(walks, pid);
}

/* Makes the list of a process: its mappings of files. 0 or -ENOMEM. */
static int make_list(struct kernel_walks *walks, uint32_t pid)
{
	const struct mapping_table *mappings = processes_mappings(walks->processes, pid);
	bool has_untried = false;
	size_t n = 0;

	if (!mappings) {
		mapping_lists_remove(&walks->lists, pid);
		return 0;
	}
	MAPPING_TABLE_EACH(mapping, mappings)
	{
		uint32_t slot = table_slots_find(&walks->tables, mapping->image);

		if (slot == TABLE_SLOT_NONE)
			continue;
		has_untried |= !walks->tables.list[slot].is_tried;
		if (n == UNWIND_MAPPINGS_OF_ONE) {
			walks->lists.n_refused++;
			mapping_lists_remove(&walks->lists, pid);
			return 0;
		}
		walks->mappings[n++] = (struct unwind_mapping){
			.start = mapping->start,
			.end = mapping->end,
			.offset = mapping->offset,
			.image = slot,
		};
	}
	if (has_untried)
		walks->expects_until = clock_now(CLOCK_MONOTONIC) + EXPECT_NS;
	return mapping_lists_set(&walks->lists, pid, walks->mappings, n);
}

/* Makes the lists of all processes that have changed. */
struct round {
	struct kernel_walks *walks;
	int error; /* the first one: further lists are made later */
};

/* What a process has now may be of the program that it executes next. */
static bool is_still_to_be_made(uint64_t pid, uint64_t zero, uint64_t value, void *arg)
{
	struct round *round = arg;
	struct proc_view *proc = &round->walks->processes->proc;

	if (round->error < 0 || (proc->is_changing && proc->is_changing(pid, proc->arg)))
		return true;
	early_lists_give_up(&round->walks->early, pid);
	round->error = make_list(round->walks, pid);
	return false;
}

static void remove_ended(uint64_t pid, uint64_t zero, uint64_t value, void *arg)
{
	struct kernel_walks *walks = arg;

	if (!processes_mappings(walks->processes, pid))
		kernel_walks_note(walks, pid);
}

static void sweep(struct kernel_walks *walks)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	if (now < walks->sweep_at)
		return;
	walks->sweep_at = now + SWEEP_NS;
	pair_map_each(&walks->lists.by_pid, remove_ended, walks);
	table_slots_sweep(&walks->tables);
}

int kernel_walks_attend(struct kernel_walks *walks)
{
	struct round round = { .walks = walks, .error = walks->error };

	if (!walks->processes)
		return 0;
	if (walks->n_replaced != walks->tables.images->n_replaced) {
		walks->n_replaced = walks->tables.images->n_replaced;
		kernel_walks_note_all(walks);
	}
	sweep(walks);
	if (walks->changed.n)
		pair_map_keep(&walks->changed, is_still_to_be_made, &round);
	table_slots_attend(&walks->tables);
	return round.error;
}

int kernel_walks_helper(const struct kernel_walks *walks)
{
	return walks->processes ? table_slots_helper(&walks->tables) : -1;
}

bool kernel_walks_are_coming(const struct kernel_walks *walks)
{
	return walks->processes && (table_slots_are_coming(&walks->tables) ||
				    clock_now(CLOCK_MONOTONIC) < walks->expects_until);
}

void kernel_walks_count(const struct kernel_walks *walks, struct stage *stage)
{
	if (!walks->processes)
		return;
	*counters_get(&stage->counters, "kernel-walks", "tables") = walks->tables.n_made;
	*counters_get(&stage->run_counters, "kernel-tables", "from-disk") = walks->tables.n_kept;
	if (walks->tables.n_refused)
		*counters_get(&stage->counters, "refused", "kernel-tables") =
			walks->tables.n_refused;
	if (walks->lists.n_refused)
		*counters_get(&stage->counters, "refused", "kernel-mappings") =
			walks->lists.n_refused;
}
