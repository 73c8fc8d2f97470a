/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "perf-source/context/context-search.h"

#define LOOK_NS (5 * NANOSECONDS_A_MILLISECOND)	  /* at one time */
#define ROUND_NS (10 * NANOSECONDS_A_SECOND)	  /* between two looks at a process, */
#define YOUNG_ROUND_NS (NANOSECONDS_A_SECOND / 5) /* and while it is young: programs publish */
#define YOUNG_NS (5 * NANOSECONDS_A_SECOND)	  /* their context when they begin */

enum {
	/* The 10th of the time goes into the first search, at most, and then the 100th. */
	FIRST_SHARE = 10,
	LATER_SHARE = 100,
};

void context_search_deinit(struct context_search *search)
{
	free(search->all.pids);
	free(search->young.pids);
}

static int list_process(uint32_t pid, void *arg)
{
	struct pid_list *list = arg;
	int r = GROWING_LIST_RESERVE(list->pids, list->n_allocated, 64, list->n + 1);

	if (r == 0)
		list->pids[list->n++] = pid;
	return r;
}

int context_search_add(struct context_search *search, uint32_t pid)
{
	bool will_be_listed = !search->round_at;

	return will_be_listed ? 0 : list_process(pid, &search->all);
}

/* Lists the processes that are due. 0 or -ENOMEM. */
static int begin_rounds(struct context_search *search, uint64_t now)
{
	int r = 0;

	if (!search->all.n && now >= search->round_at) {
		search->round_at = search->is_once ? UINT64_MAX : now + ROUND_NS;
		r = processes_each(search->processes, 0, list_process, &search->all);
	}
	if (r == 0 && !search->is_once && !search->young.n && now >= search->young_round_at &&
	    now > YOUNG_NS) {
		search->young_round_at = now + YOUNG_ROUND_NS;
		r = processes_each(search->processes, now - YOUNG_NS, list_process, &search->young);
	}
	return r;
}

static bool is_context(const char *path)
{
	static const char *const names[] = { "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]",
					     "[anon:OTEL_CTX]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Finds the mappings of a process that have the name of a context, or of an interpreter. */
static void look_at(struct context_search *search, uint32_t pid, struct context_hints *ret)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	struct proc_view *proc = &search->processes->proc;

	*ret = (struct context_hints){ 0 };
	if (!proc->shows(pid) || (search->is_wanted && !search->is_wanted(pid, search->arg)) ||
	    proc->read_maps(proc, pid, MAPS_ALL, &maps) < 0)
		return;
	for (size_t i = 0; i < maps.n && ret->n < CONTEXT_ADDRESSES_MAX; i++) {
		if (search->wanted & CONTEXTS_RUNTIMES)
			ret->may_have_runtime |= runtime_may_be_in(maps.list[i].path);
		if (search->wanted & CONTEXTS_PUBLISHED && is_context(maps.list[i].path))
			ret->addresses[ret->n++] = maps.list[i].start;
	}
}

int context_search_go_on(struct context_search *search,
			 int (*found)(uint32_t pid, const struct context_hints *hints, void *arg),
			 void *arg)
{
	uint64_t began = clock_now(CLOCK_MONOTONIC), now = began;
	uint64_t share = context_search_is_first(search) ? FIRST_SHARE : LATER_SHARE;
	int r = now < search->look_at ? 0 : begin_rounds(search, now);

	if (now < search->look_at)
		return 0;
	while (r >= 0 && search->young.n + search->all.n && now - began < LOOK_NS) {
		struct pid_list *list = search->young.n ? &search->young : &search->all;
		uint32_t pid = list->pids[--list->n];
		struct context_hints hints;

		look_at(search, pid, &hints);
		/* Later ones are known by their mappings. */
		hints.may_have_runtime &= context_search_is_first(search);
		if (hints.n || hints.may_have_runtime)
			r = found(pid, &hints, arg);
		now = clock_now(CLOCK_MONOTONIC);
	}
	search->has_begun |= !search->all.n;
	search->look_at = now + (now - began) * share;
	return r;
}

bool context_search_is_first(const struct context_search *search)
{
	return !search->has_begun;
}
