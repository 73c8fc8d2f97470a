/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/sum.h"
#include "profile/counts.h"
#include "profile/waiter.h"

/* For each node, whether one of `functions` is in it or in one of its callers. */
static int find_matching(const struct tree *tree, const bool *functions, bool **ret)
{
	bool *matches = calloc(tree->n_nodes, sizeof(*matches));

	*ret = matches;
	if (!matches)
		return -ENOMEM;
	for (size_t i = 1; i < tree->n_nodes; i++)
		matches[i] = functions[tree->nodes[i].function] || matches[tree->nodes[i].parent];
	return 0;
}

/* The amount of a sample that counts. A wait counts only its part within the filter's time. */
static uint64_t amount(const struct profile *profile, const struct counts_filter *filter,
		       const struct profile_sample *sample)
{
	const struct events *events = &profile->stacks->events;
	uint64_t n = profile_amount(profile, filter->view, sample);
	bool is_wait = events->list[sample->event].kind == WIRE_event_kind_OFF_CPU;
	uint64_t to = filter->to ? filter->to : UINT64_MAX;
	uint64_t weight = sample->weight < sample->time ? sample->weight : sample->time;
	uint64_t begin = is_wait ? sample->time - weight : sample->time, end = sample->time;

	if (end < filter->from || begin > to)
		return 0;
	if (is_wait && filter->view.kind == VIEW_SAMPLES)
		return n;
	if (is_wait && begin < filter->from)
		n -= filter->from - begin;
	if (is_wait && end > to)
		n -= end - to;
	return n;
}

static int count_samples(struct counts *counts, const struct counts_filter *filter)
{
	const struct profile *profile = counts->tree->profile;
	_cleanup_free_ bool *matches = NULL;

	if (filter->functions && find_matching(counts->tree, filter->functions, &matches) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint32_t node = counts->tree->node_of[sample->node], self = node;
		bool is_wait = events_is_wait(&profile->stacks->events, sample->event);
		bool has_waiter =
			is_wait || events_is_wakeup(&profile->stacks->events, sample->event);
		uint64_t n = amount(profile, filter, sample);

		if (!n || (filter->threads && !filter->threads[sample->thread]) ||
		    (matches && !matches[node]) ||
		    (filter->is_wanted && !filter->is_wanted(sample, filter->arg)))
			continue;
		if (filter->add && filter->add(sample, n, filter->arg) < 0)
			return -ENOMEM;
		if (has_waiter && filter->has_waiters)
			self = counts->tree->node_of[profile_waiter(profile, sample->node)];
		sum_add(&counts->self[self], n);
		if (is_wait) {
			sum_add(&counts->waited[node], n);
			if (sample->flags & WIRE_sample_flags_PREEMPTED)
				sum_add(&counts->preempted[node], n);
		}
		if (sample->waker)
			sum_add(&counts->of_waker[sample->waker - 1], n);
		sum_add(&counts->of_thread[sample->thread], n);
		sum_add(&counts->sum, n);
		sum_add(&counts->n, sample->n);
	}
	return 0;
}

/* State of a depth-first visit without recursion. */
struct recursion {
	uint32_t *first_child, *next_sibling; /* by node; 0: none */
	uint32_t *on_path;		      /* by function: how many active calls the path has */
};

static void link_children(const struct tree *tree, struct recursion *recursion)
{
	for (size_t i = tree->n_nodes; --i;) {
		uint32_t parent = tree->nodes[i].parent;

		recursion->next_sibling[i] = recursion->first_child[parent];
		recursion->first_child[parent] = i;
	}
}

/* Visits all nodes, the outermost first. Of a recursion, only the outermost call adds its total. */
static void count_functions(struct counts *counts, struct recursion *recursion)
{
	const struct node *nodes = counts->tree->nodes;
	uint32_t node = recursion->first_child[0];

	while (node) {
		struct function_count *count = &counts->functions[nodes[node].function];

		sum_add(&count->self, counts->self[node]);
		if (!recursion->on_path[nodes[node].function]++)
			sum_add(&count->total, counts->total[node]);
		if (recursion->first_child[node]) {
			node = recursion->first_child[node];
			continue;
		}
		recursion->on_path[nodes[node].function]--;
		while (node && !recursion->next_sibling[node]) {
			node = nodes[node].parent;
			if (node)
				recursion->on_path[nodes[node].function]--;
		}
		if (node)
			node = recursion->next_sibling[node];
	}
}

static int sum_up(struct counts *counts)
{
	const struct tree *tree = counts->tree;
	_cleanup_free_ uint32_t *first = calloc(tree->n_nodes, sizeof(*first));
	_cleanup_free_ uint32_t *next = calloc(tree->n_nodes, sizeof(*next));
	_cleanup_free_ uint32_t *on_path = calloc(tree->n_functions + 1, sizeof(*on_path));
	struct recursion recursion = { first, next, on_path };

	if (!first || !next || !on_path)
		return -ENOMEM;
	memcpy(counts->total, counts->self, tree->n_nodes * sizeof(*counts->total));
	for (size_t i = tree->n_nodes; --i;)
		sum_add(&counts->total[tree->nodes[i].parent], counts->total[i]);
	for (size_t i = 0; i < tree->n_functions; i++)
		counts->functions[i].function = i;
	link_children(tree, &recursion);
	count_functions(counts, &recursion);
	return 0;
}

int counts_init(struct counts *counts, const struct tree *tree, const struct counts_filter *filter)
{
	int r;

	*counts = (struct counts){
		.tree = tree,
		.self = calloc(tree->n_nodes, sizeof(*counts->self)),
		.total = calloc(tree->n_nodes, sizeof(*counts->total)),
		.waited = calloc(tree->n_nodes, sizeof(*counts->waited)),
		.preempted = calloc(tree->n_nodes, sizeof(*counts->preempted)),
		.of_thread = calloc(tree->profile->n_threads + 1, sizeof(*counts->of_thread)),
		.of_waker = calloc(tree->profile->n_threads + 1, sizeof(*counts->of_waker)),
		.functions = calloc(tree->n_functions + 1, sizeof(*counts->functions)),
	};
	if (!counts->self || !counts->total || !counts->waited || !counts->preempted ||
	    !counts->of_waker || !counts->of_thread || !counts->functions)
		r = -ENOMEM;
	else
		r = count_samples(counts, filter);
	if (r == 0)
		r = sum_up(counts);
	if (r < 0)
		counts_deinit(counts);
	return r;
}

void counts_deinit(struct counts *counts)
{
	free(counts->self);
	free(counts->total);
	free(counts->waited);
	free(counts->preempted);
	free(counts->of_thread);
	free(counts->of_waker);
	free(counts->functions);
	*counts = (struct counts){ 0 };
}

static int compare(const void *a, const void *b)
{
	const struct function_count *left = a, *right = b;

	if (left->self != right->self)
		return left->self > right->self ? -1 : 1;
	if (left->total != right->total)
		return left->total > right->total ? -1 : 1;
	return left->function < right->function ? -1 : left->function > right->function;
}

int counts_sort_functions(const struct counts *counts, struct function_count **ret, size_t *ret_n)
{
	struct function_count *list = calloc(counts->tree->n_functions + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < counts->tree->n_functions; i++)
		if (counts->functions[i].total)
			list[n++] = counts->functions[i];
	qsort(list, n, sizeof(*list), compare);
	*ret = list;
	*ret_n = n;
	return 0;
}
