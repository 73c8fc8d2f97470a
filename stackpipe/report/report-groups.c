/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts by process, thread, image, control group, waker and reason of a wait. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/pair-map.h"
#include "profile/program.h"
#include "profile/wait-reasons.h"
#include "stackpipe/report/report.h"

enum { REPORT_CALLS_OTHER = 4 }; /* extra rows for waits: preempted, other reasons */

static uint32_t name_of(const struct report *report, enum report_group group, uint32_t thread,
			uint32_t *ret_id)
{
	const struct profile *profile = &report->recorder->profile;
	const struct profile_thread *found = &profile->threads[thread];
	const struct profile_process *process = &profile->processes[found->process];

	if (group == REPORT_BY_CGROUP) {
		*ret_id = 0;
		return process->cgroup;
	}
	if (group == REPORT_BY_PROCESS) {
		*ret_id = process->pid;
		return process->name;
	}
	*ret_id = found->tid;
	return found->name;
}

int report_compare_rows(const void *a, const void *b)
{
	const struct report_row *left = a, *right = b;

	if (left->n != right->n)
		return left->n > right->n ? -1 : 1;
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static int add_row(struct pair_map *index, struct report_row *rows, size_t *n, uint32_t name,
		   uint32_t id, uint64_t n_samples)
{
	uint64_t *known = pair_map_find(index, name, id);
	int r = 0;

	if (!n_samples)
		return 0;
	if (!known) {
		r = pair_map_add(index, name, id, *n);
		rows[(*n)++] = (struct report_row){ name, n_samples, id };
	} else {
		rows[*known].n += n_samples;
	}
	return r;
}

static uint32_t intern(const struct report *report, const char *text)
{
	return names_intern(&report->recorder->stacks.names, text, strlen(text));
}

/* Maps tree nodes to names of what they wait in. The caller frees the map. NULL: no memory. */
static uint32_t *find_calls(const struct report *report)
{
	const struct tree *tree = &report->tree;
	_cleanup_free_ uint32_t *calls = calloc(tree->n_nodes, sizeof(*calls));
	struct wait_reasons reasons = { 0 };
	int r = wait_reasons_init(&reasons, &report->recorder->profile);

	if (calls && r == 0)
		for (size_t i = 1; i < tree->profile->n_nodes; i++)
			calls[tree->node_of[i]] = reasons.of_node[i];
	wait_reasons_deinit(&reasons);
	return r == 0 ? take_pointer(calls) : NULL;
}

static int fill_calls(const struct report *report, struct pair_map *index, struct report_row *rows,
		      size_t *n)
{
	const struct counts *counts = &report->counts;
	uint32_t preempted = intern(report, "the CPU (preempted)"),
		 other = intern(report, "something else in the kernel");
	_cleanup_free_ uint32_t *calls = find_calls(report);
	int r = calls ? 0 : -ENOMEM;

	for (size_t i = 1; i < report->tree.n_nodes && r == 0; i++) {
		r = add_row(index, rows, n, calls[i] ? calls[i] : other, 0,
			    counts->waited[i] - counts->preempted[i]);
		if (r == 0)
			r = add_row(index, rows, n, preempted, 0, counts->preempted[i]);
	}
	return r;
}

/* Fills a row per function or thread, merging those of the same name and number. */
static int fill_rows(const struct report *report, enum report_group group, struct pair_map *index,
		     struct report_row *rows, size_t *n)
{
	const struct profile *profile = &report->recorder->profile;
	const struct tree *tree = &report->tree;
	size_t n_max = group == REPORT_BY_IMAGE ? tree->n_functions : profile->n_threads;
	int r = 0;

	for (size_t i = 0; i < n_max && r == 0; i++) {
		uint32_t id = 0, name;

		if (group == REPORT_BY_IMAGE) {
			name = profile->modules[tree->functions[i].module].path;
			r = add_row(index, rows, n, name, 0, report->counts.functions[i].self);
		} else {
			name = name_of(report, group, i, &id);
			r = add_row(index, rows, n, name, id,
				    group == REPORT_BY_WAKER ? report->counts.of_waker[i]
							     : report->counts.of_thread[i]);
		}
	}
	return r;
}

int report_group(const struct report *report, enum report_group group, struct report_row **ret,
		 size_t *ret_n)
{
	const struct tree *tree = &report->tree;
	size_t n_threads = tree->profile->n_threads, n = 0;
	size_t n_max = n_threads > tree->n_functions ? n_threads : tree->n_functions;
	struct report_row *rows = calloc(n_max + REPORT_CALLS_OTHER, sizeof(*rows));
	struct pair_map index;
	int r = rows ? 0 : -ENOMEM;

	pair_map_init(&index, n_max + REPORT_CALLS_OTHER);
	if (r == 0)
		r = group == REPORT_BY_CALL ? fill_calls(report, &index, rows, &n)
					    : fill_rows(report, group, &index, rows, &n);
	pair_map_deinit(&index);
	if (r < 0) {
		free(rows);
		return r;
	}
	qsort(rows, n, sizeof(*rows), report_compare_rows);
	*ret = rows;
	*ret_n = n;
	return 0;
}

/*
 * Returns the innermost function of the program on the node's stack: of its script, else of any
 * file but the C library's; 0: none.
 */
static uint32_t function_of_program(const struct report *report, uint32_t node)
{
	const struct tree *tree = &report->tree;
	uint32_t found = 0;

	for (; node; node = tree->nodes[node].parent) {
		const struct tree_function *function = &tree->functions[tree->nodes[node].function];

		if (function->kind == TREE_SCRIPT)
			return function->name;
		if (!found && function->kind != TREE_KERNEL && function->kind != TREE_CUT &&
		    !profile_module_is_of_all(tree->profile, function->module))
			found = function->name;
	}
	return found;
}

static int compare_waits(const void *a, const void *b)
{
	const struct report_wait *left = a, *right = b;

	if (left->n != right->n)
		return left->n > right->n ? -1 : 1;
	if (left->reason != right->reason)
		return left->reason < right->reason ? -1 : 1;
	return left->function < right->function ? -1 : left->function > right->function;
}

static int add_wait(struct pair_map *index, struct report_wait *waits, size_t *n,
		    struct report_wait wait)
{
	uint64_t *known = pair_map_find(index, wait.reason, wait.function);

	if (!wait.n)
		return 0;
	if (known) {
		waits[*known].n += wait.n;
		return 0;
	}
	waits[*n] = wait;
	return pair_map_add(index, wait.reason, wait.function, (*n)++);
}

static int fill_waits(const struct report *report, struct pair_map *index,
		      struct report_wait *waits, size_t *n)
{
	const struct counts *counts = &report->waits;
	uint32_t preempted = intern(report, "the CPU"), other = intern(report, "the kernel");
	_cleanup_free_ uint32_t *calls = find_calls(report);
	int r = calls ? 0 : -ENOMEM;

	for (size_t i = 1; i < report->tree.n_nodes && r == 0; i++) {
		uint32_t function = counts->waited[i] ? function_of_program(report, i) : 0;

		r = add_wait(index, waits, n,
			     (struct report_wait){ calls[i] ? calls[i] : other, function,
						   counts->waited[i] - counts->preempted[i] });
		if (r == 0)
			r = add_wait(
				index, waits, n,
				(struct report_wait){ preempted, function, counts->preempted[i] });
	}
	return r;
}

int report_waits(const struct report *report, struct report_wait **ret, size_t *ret_n)
{
	size_t n = 0, n_max = 2 * report->tree.n_nodes;
	struct report_wait *waits = calloc(n_max, sizeof(*waits));
	struct pair_map index;
	int r = waits ? 0 : -ENOMEM;

	pair_map_init(&index, n_max);
	if (r == 0)
		r = fill_waits(report, &index, waits, &n);
	pair_map_deinit(&index);
	if (r < 0) {
		free(waits);
		return r;
	}
	qsort(waits, n, sizeof(*waits), compare_waits);
	*ret = waits;
	*ret_n = n;
	return 0;
}

static int by_counts(const void *a, const void *b, void *arg)
{
	const struct report *report = arg;
	const struct profile_thread *threads = report->recorder->profile.threads;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	uint64_t left = report->counts.of_thread[i], right = report->counts.of_thread[k];

	if (left == right) {
		left = threads[i].on_ns + threads[i].off_ns;
		right = threads[k].on_ns + threads[k].off_ns;
	}
	if (left != right)
		return left > right ? -1 : 1;
	return i < k ? -1 : i > k;
}

int report_threads_by_time(const struct report *report, uint32_t **ret, size_t *ret_n)
{
	const struct profile *profile = &report->recorder->profile;
	uint32_t *list = calloc(profile->n_threads + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		if (report->is_thread[i] && thread->on_ns + thread->off_ns)
			list[n++] = i;
	}
	qsort_r(list, n, sizeof(*list), by_counts, (void *)report);
	*ret = list;
	*ret_n = n;
	return 0;
}
