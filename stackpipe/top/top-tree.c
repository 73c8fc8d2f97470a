/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "stackpipe/top/top-tree.h"

struct branch {
	uint32_t parent, function;
	uint64_t n;
};

struct growing_tree {
	struct top *top;
	struct branch *list; /* the first is the root */
	size_t n;
	struct pair_map index;			      /* (parent, function) → branch */
	uint32_t path[WIRE_FRAMES_MAX + STACKS_ENDS]; /* of the current stack, innermost first */
	size_t n_path;
};

/* Adds `amount` to a function's branch below `branch`, made if needed. 0 or -ENOMEM. */
static int grow(struct growing_tree *tree, uint32_t function, uint64_t amount, uint32_t *branch)
{
	uint64_t *known = pair_map_find(&tree->index, *branch, function);
	int r = 0;

	if (!known) {
		r = pair_map_add(&tree->index, *branch, function, tree->n);
		if (r == 0)
			r = GROWING_LIST_MAKE_ROOM(tree->list, tree->n);
		if (r < 0)
			return r;
		tree->list[tree->n] = (struct branch){ *branch, function, 0 };
		*branch = tree->n++;
	} else {
		*branch = *known;
	}
	tree->list[*branch].n += amount;
	return 0;
}

/* Lists a stack's functions in `path`; those beyond its size are left out. */
static int find_path(struct growing_tree *tree, uint32_t node)
{
	struct live_counts *counts = &tree->top->counts;
	const struct profile *profile = counts->profile;
	size_t n_max = sizeof(tree->path) / sizeof(tree->path[0]);
	int r = 0;

	tree->n_path = 0;
	for (; node && r == 0; node = profile->nodes[node].parent) {
		const struct profile_location *location =
			&profile->locations[profile->nodes[node].location];

		for (size_t i = location->n_calls; i-- > 0 && r == 0 && tree->n_path < n_max;)
			r = live_counts_function(counts, location, i, &tree->path[tree->n_path++]);
	}
	return r;
}

/* Adds the path inwards from the subject's outermost call, or outwards from it. */
static int add_path(struct growing_tree *tree, enum top_side side, uint64_t amount)
{
	size_t at = tree->n_path;
	uint32_t branch = 0;
	int r = 0;

	while (at && tree->path[at - 1] != tree->top->subject)
		at--;
	if (!at)
		return 0;
	if (side == TOP_CALLEES)
		while (at-- && r == 0)
			r = grow(tree, tree->path[at], amount, &branch);
	else
		for (at--; at < tree->n_path && r == 0; at++)
			r = grow(tree, tree->path[at], amount, &branch);
	return r;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct branch *list = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (list[i].n != list[k].n)
		return list[i].n > list[k].n ? -1 : 1;
	return i < k ? -1 : i > k;
}

/* Lists the lines below a branch. `order` has all branches, the largest first. */
static void put_lines(const struct growing_tree *tree, const uint32_t *order, uint32_t parent,
		      int depth, struct top_line *ret, size_t *n, size_t n_max)
{
	for (size_t i = 0; i + 1 < tree->n && *n < n_max; i++) {
		const struct branch *branch = &tree->list[order[i]];

		if (branch->parent != parent || branch->n * 200 < tree->top->counts.n)
			continue;
		ret[(*n)++] = (struct top_line){ branch->function, depth, branch->n };
		put_lines(tree, order, order[i], depth + 1, ret, n, n_max);
	}
}

static size_t list_lines(const struct growing_tree *tree, struct top_line *ret, size_t n_max)
{
	_cleanup_free_ uint32_t *order = calloc(tree->n, sizeof(*order));
	size_t n = 0;

	if (!order)
		return 0;
	for (size_t i = 1; i < tree->n; i++)
		order[i - 1] = i;
	qsort_r(order, tree->n - 1, sizeof(*order), compare, tree->list);
	put_lines(tree, order, 0, 0, ret, &n, n_max);
	return n;
}

size_t top_make_tree(struct top *top, enum top_side side, struct top_line *ret, size_t n_max)
{
	_cleanup_free_ struct growing_tree *tree = calloc(1, sizeof(*tree));
	struct live_counts *counts = &top->counts;
	size_t n = 0;
	int r = 0;

	if (!tree || GROWING_LIST_MAKE_ROOM(tree->list, tree->n) < 0)
		return 0;
	tree->top = top;
	tree->list[tree->n++] = (struct branch){ 0 };
	pair_map_init(&tree->index, SIZE_MAX);
	for (size_t i = counts->first; i < counts->next && r == 0; i++) {
		const struct profile_sample *sample = &counts->profile->samples[i];
		uint64_t amount = live_counts_amount(counts, sample);

		if (!amount)
			continue;
		r = find_path(tree, sample->node);
		if (r == 0)
			r = add_path(tree, side, amount);
	}
	n = list_lines(tree, ret, n_max);
	pair_map_deinit(&tree->index);
	free(tree->list);
	return n;
}

static int compare_groups(const void *a, const void *b)
{
	const struct top_group *left = a, *right = b;

	if (left->n != right->n)
		return left->n > right->n ? -1 : 1;
	return left->process < right->process ? -1 : left->process > right->process;
}

/* For control groups, maps each process to the first one of its group. 0 or -ENOMEM. */
static int find_firsts(const struct profile *profile, enum top_view view, uint32_t *ret)
{
	struct pair_map firsts;
	int r = 0;

	pair_map_init(&firsts, SIZE_MAX);
	for (size_t i = 0; i < profile->n_processes && r == 0; i++) {
		uint32_t cgroup = profile->processes[i].cgroup;
		const uint64_t *known =
			view == TOP_CGROUPS ? pair_map_find(&firsts, cgroup, 0) : NULL;

		ret[i] = known ? *known : i;
		if (!known && view == TOP_CGROUPS)
			r = pair_map_add(&firsts, cgroup, 0, i);
	}
	pair_map_deinit(&firsts);
	return r;
}

static void add_to_group(struct top *top, const struct profile_sample *sample,
			 struct top_group *list, const uint32_t *firsts)
{
	uint32_t process = top->recorder.profile.threads[sample->thread].process;

	list[firsts[process]].n += live_counts_amount(&top->counts, sample);
}

size_t top_hottest_groups(struct top *top, struct top_group *ret, size_t n_max)
{
	const struct profile *profile = &top->recorder.profile;
	_cleanup_free_ struct top_group *list = calloc(profile->n_processes + 1, sizeof(*list));
	_cleanup_free_ uint32_t *firsts = calloc(profile->n_processes + 1, sizeof(*firsts));
	size_t n = 0;

	if (!list || !firsts || find_firsts(profile, top->view, firsts) < 0)
		return 0;
	for (size_t i = 0; i < profile->n_processes; i++)
		list[i].process = i;
	for (size_t i = top->counts.first; i < top->counts.next; i++)
		add_to_group(top, &profile->samples[i], list, firsts);
	qsort(list, profile->n_processes, sizeof(*list), compare_groups);
	for (; n < n_max && n < profile->n_processes && list[n].n; n++)
		ret[n] = list[n];
	return n;
}

/* The separator ';' may not occur in a name. */
static void put_name(const char *name, FILE *out)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name, out);
}

int top_save(struct top *top, FILE *out)
{
	_cleanup_free_ struct growing_tree *tree = calloc(1, sizeof(*tree));
	struct live_counts *counts = &top->counts;
	const struct profile *profile = counts->profile;
	int r = tree ? 0 : -ENOMEM;

	if (tree)
		tree->top = top;
	for (size_t i = counts->first; i < counts->next && r == 0; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		uint64_t amount = live_counts_amount(counts, sample);

		if (!amount)
			continue;
		r = find_path(tree, sample->node);
		if (r < 0)
			break;
		put_name(profile_text(profile, profile->threads[sample->thread].name), out);
		while (tree->n_path) {
			const struct live_function *function =
				&counts->functions[tree->path[--tree->n_path]];

			putc(';', out);
			put_name(profile_text(profile, function->function.name), out);
		}
		/* Folded stacks have time in microseconds. */
		if (view_is_time(&profile->stacks->events, counts->view))
			amount /= NANOSECONDS_A_MICROSECOND;
		fprintf(out, " %" PRIu64 "\n", amount);
	}
	return r;
}
