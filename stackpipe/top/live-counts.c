/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "profile/waiter.h"
#include "stackpipe/regex-option.h"
#include "stackpipe/top/live-counts.h"

void live_counts_init(struct live_counts *counts, struct profile *profile)
{
	*counts = (struct live_counts){ .profile = profile, .process = -1, .cgroup = -1 };
	pair_map_init(&counts->by_function, PROFILE_CALLS_MAX);
}

void live_counts_deinit(struct live_counts *counts)
{
	free(counts->functions);
	free(counts->of_call);
	pair_map_deinit(&counts->by_function);
	*counts = (struct live_counts){ 0 };
}

static bool is_match(const struct live_counts *counts, const struct tree_function *function)
{
	return !counts->symbol ||
	       regexec(counts->symbol, profile_text(counts->profile, function->name), 0, NULL, 0) ==
		       0;
}

static int find_function(struct live_counts *counts, struct tree_function function, uint32_t *ret)
{
	uint64_t rest = (uint64_t)function.module << 8 | function.kind;
	uint64_t *known = pair_map_find(&counts->by_function, function.name, rest);
	int r;

	*ret = known ? *known : counts->n_functions;
	if (known)
		return 0;
	r = pair_map_add(&counts->by_function, function.name, rest, counts->n_functions);
	if (r == 0)
		r = GROWING_LIST_ADD(counts->functions, counts->n_functions,
				     (struct live_function){
					     .function = function,
					     .is_match = is_match(counts, &function),
				     });
	return r;
}

static int make_room_for_calls(struct live_counts *counts)
{
	if (counts->n_of_call >= counts->profile->n_calls)
		return 0;
	return GROWING_LIST_EXTEND(counts->of_call, counts->n_of_call,
				   2 * counts->profile->n_calls + 1024);
}

/* Not cached for a provisional name of JIT code, whose meaning may change. */
int live_counts_function(struct live_counts *counts, const struct profile_location *location,
			 size_t i, uint32_t *ret)
{
	const struct names *names = &counts->profile->stacks->names;
	uint32_t name = counts->profile->calls[location->first_call + i].name, *known;
	bool is_kept = !names_is_provisional(names, name);
	struct tree_function function = {
		.name = names_plain(names, names_meaning(names, name)),
		.module = location->module,
		.kind = i ? TREE_INLINED : (enum tree_function_kind)location->kind,
	};
	int r = make_room_for_calls(counts);

	if (r < 0)
		return r;
	known = &counts->of_call[location->first_call + i];
	if (is_kept && *known) {
		*ret = *known - 1;
		return 0;
	}
	r = find_function(counts, function, ret);
	if (r == 0 && is_kept)
		*known = *ret + 1;
	return r;
}

/* Calls `visit` for each function of a stack, the innermost first. */
static int each_function(struct live_counts *counts, uint32_t node,
			 void (*visit)(struct live_counts *counts, uint32_t function, bool is_leaf,
				       int64_t step),
			 int64_t step)
{
	const struct profile *profile = counts->profile;
	bool is_leaf = true;
	uint32_t function;
	int r = 0;

	for (; node && r == 0; node = profile->nodes[node].parent) {
		const struct profile_location *location =
			&profile->locations[profile->nodes[node].location];

		for (size_t i = location->n_calls; i-- > 0 && r == 0;) {
			r = live_counts_function(counts, location, i, &function);
			if (r == 0)
				visit(counts, function, is_leaf, step);
			is_leaf = false;
		}
	}
	return r;
}

/* Saturates at 0: a name of JIT code may have changed its meaning since it was counted. */
static uint64_t stepped(uint64_t amount, int64_t step)
{
	return step < 0 && amount < (uint64_t)-step ? 0 : amount + step;
}

static void add(struct live_counts *counts, uint32_t number, bool is_leaf, int64_t step)
{
	struct live_function *function = &counts->functions[number];

	if (is_leaf)
		function->self = stepped(function->self, step);
	if (function->last_sample != counts->n_steps)
		function->total = stepped(function->total, step);
	function->last_sample = counts->n_steps;
}

static void note_match(struct live_counts *counts, uint32_t number, bool is_leaf, int64_t step)
{
	counts->has_match |= counts->functions[number].is_match;
}

static bool is_in_cgroups(const struct live_counts *counts, const struct profile_process *process)
{
	return regex_option_matches(counts->cgroups,
				    profile_text(counts->profile, process->cgroup));
}

uint64_t live_counts_amount(struct live_counts *counts, const struct profile_sample *sample)
{
	const struct profile *profile = counts->profile;
	uint32_t process = profile->threads[sample->thread].process;
	uint64_t amount = profile_amount(profile, counts->view, sample);

	if (!amount || (counts->process >= 0 && process != counts->process) ||
	    (counts->cgroup >= 0 && profile->processes[process].cgroup != counts->cgroup) ||
	    !is_in_cgroups(counts, &profile->processes[process]))
		return 0;
	if (!counts->symbol)
		return amount;
	counts->has_match = false;
	return each_function(counts, sample->node, note_match, 0) == 0 && counts->has_match ? amount
											    : 0;
}

static uint32_t counted_node(const struct profile *profile, const struct profile_sample *sample)
{
	return events_is_wait(&profile->stacks->events, sample->event)
		       ? profile_waiter(profile, sample->node)
		       : sample->node;
}

/* Adds (1) or removes (-1) a sample. */
static int step_sample(struct live_counts *counts, const struct profile_sample *sample,
		       int64_t direction)
{
	int64_t step = direction * (int64_t)live_counts_amount(counts, sample);

	if (!step)
		return 0;
	counts->n_steps++;
	counts->n += step;
	return each_function(counts, counted_node(counts->profile, sample), add, step);
}

int live_counts_follow(struct live_counts *counts, uint64_t since)
{
	const struct profile *profile = counts->profile;
	int r = 0;

	for (; counts->next < profile->n_samples && r == 0; counts->next++)
		r = step_sample(counts, &profile->samples[counts->next], 1);
	for (;
	     counts->first < counts->next && r == 0 && profile->samples[counts->first].time < since;
	     counts->first++)
		r = step_sample(counts, &profile->samples[counts->first], -1);
	if (counts->first > profile->n_samples / 2) { /* over half are outside the window */
		profile_drop_samples(counts->profile, counts->first);
		counts->next -= counts->first;
		counts->first = 0;
	}
	return r;
}

int live_counts_again(struct live_counts *counts)
{
	int r = 0;

	counts->n = 0;
	for (size_t i = 0; i < counts->n_functions; i++) {
		counts->functions[i].self = counts->functions[i].total = 0;
		counts->functions[i].is_match = is_match(counts, &counts->functions[i].function);
	}
	for (size_t i = counts->first; i < counts->next && r == 0; i++)
		r = step_sample(counts, &counts->profile->samples[i], 1);
	return r;
}

static uint64_t key_of(const struct live_function *function, enum live_order order)
{
	return order == LIVE_BY_SELF ? function->self : function->total;
}

/* Insertion into a short sorted list; most functions are too cold to be inserted. */
size_t live_counts_hottest(const struct live_counts *counts, enum live_order order, uint32_t *ret,
			   size_t n_max)
{
	size_t n = 0;

	for (size_t i = 0; i < counts->n_functions && n_max; i++) {
		uint64_t key = key_of(&counts->functions[i], order);
		size_t at = n;

		if (!key || (n == n_max && key <= key_of(&counts->functions[ret[n - 1]], order)))
			continue;
		if (n < n_max)
			n++;
		else
			at--;
		for (; at && key > key_of(&counts->functions[ret[at - 1]], order); at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
	}
	return n;
}
