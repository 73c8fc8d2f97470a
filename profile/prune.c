/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/sum.h"
#include "profile/prune.h"

enum { OF_NOBODY = 0, OF_SEVERAL = UINT32_MAX }; /* otherwise a process's index + 1 */

struct pruning {
	struct profile *profile;
	uint64_t *totals;	/* by node: samples of the node and of its callees */
	uint32_t *owners;	/* by node: the only process that has it */
	bool *goes, *is_needed; /* by node; needed: a callee of it stays */
	size_t *n_owned;	/* by owner */
	size_t n_left;
};

static void free_pruning(struct pruning *pruning)
{
	free(pruning->totals);
	free(pruning->owners);
	free(pruning->goes);
	free(pruning->is_needed);
	free(pruning->n_owned);
}

static int allocate(struct pruning *pruning, struct profile *profile)
{
	size_t n = profile->n_nodes;

	*pruning = (struct pruning){
		.profile = profile,
		.totals = calloc(n, sizeof(*pruning->totals)),
		.owners = calloc(n, sizeof(*pruning->owners)),
		.goes = calloc(n, sizeof(*pruning->goes)),
		.is_needed = calloc(n, sizeof(*pruning->is_needed)),
		.n_owned = calloc(profile->n_processes + 1, sizeof(*pruning->n_owned)),
		.n_left = n,
	};
	return pruning->totals && pruning->owners && pruning->goes && pruning->is_needed &&
			       pruning->n_owned
		       ? 0
		       : -ENOMEM;
}

static void add_owner(uint32_t *owner, uint32_t other)
{
	if (*owner == OF_NOBODY)
		*owner = other;
	else if (other != OF_NOBODY && *owner != other)
		*owner = OF_SEVERAL;
}

/* Backwards, because parents come before their children. */
static void count(struct pruning *pruning)
{
	const struct profile *profile = pruning->profile;

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		sum_add(&pruning->totals[sample->node], sample->n);
		add_owner(&pruning->owners[sample->node],
			  profile->threads[sample->thread].process + 1);
	}
	for (size_t i = profile->n_nodes; --i;) {
		uint32_t parent = profile->nodes[i].parent;

		sum_add(&pruning->totals[parent], pruning->totals[i]);
		add_owner(&pruning->owners[parent], pruning->owners[i]);
		if (pruning->owners[i] != OF_SEVERAL)
			pruning->n_owned[pruning->owners[i]]++;
	}
}

/* The number of nodes left if each owner had at most `share`. */
static size_t count_shares(const struct pruning *pruning, size_t share)
{
	size_t n = pruning->n_left;

	for (size_t i = 0; i <= pruning->profile->n_processes; i++)
		if (pruning->n_owned[i] > share)
			n -= pruning->n_owned[i] - share;
	return n;
}

/* The largest share that leaves at most `n_wanted` nodes; 0: no share does. */
static size_t find_share(const struct pruning *pruning, size_t n_wanted)
{
	size_t low = 0, high = pruning->n_left;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (count_shares(pruning, middle) <= n_wanted)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* End reasons (PROFILE_CUT) always stay: they take only a few nodes. */
static bool may_go(const struct pruning *pruning, size_t node, size_t share, uint32_t last_owner)
{
	const struct profile *profile = pruning->profile;
	uint32_t owner = pruning->owners[node];

	if (pruning->is_needed[node] ||
	    profile->locations[profile->nodes[node].location].kind == PROFILE_CUT)
		return false;
	return owner == OF_SEVERAL ? last_owner == OF_SEVERAL : pruning->n_owned[owner] > share;
}

/* Drops nodes with fewer than `n_samples` samples, of owners with more than `share` nodes. */
static void drop_rare(struct pruning *pruning, uint64_t n_samples, size_t share,
		      uint32_t last_owner)
{
	const struct profile *profile = pruning->profile;

	memset(pruning->is_needed, 0, profile->n_nodes * sizeof(*pruning->is_needed));
	for (size_t i = profile->n_nodes; --i;) {
		uint32_t owner = pruning->owners[i];

		if (pruning->goes[i])
			continue;
		if (pruning->totals[i] >= n_samples || !may_go(pruning, i, share, last_owner)) {
			pruning->is_needed[profile->nodes[i].parent] = true;
			continue;
		}
		pruning->goes[i] = true;
		pruning->n_left--;
		if (owner != OF_SEVERAL)
			pruning->n_owned[owner]--;
	}
}

static void drop(struct pruning *pruning, size_t n_wanted, size_t share, uint32_t last_owner)
{
	uint64_t whole = pruning->totals[0];

	for (uint64_t n = 2; pruning->n_left > n_wanted && n / 4 <= whole; n *= 2)
		drop_rare(pruning, n, share, last_owner);
}

/* Moves a sample whose stack was dropped to `crowd`, a node that exists by now and stays. */
static void move_sample(const struct pruning *pruning, struct profile_sample *sample,
			const uint32_t *numbers, uint32_t crowd)
{
	bool goes = pruning->goes[sample->node];

	if (goes) {
		stacks_find_no_room(pruning->profile->stacks, sample->end, sample->n);
		sample->end = WIRE_stack_end_MORE_STACKS;
	}
	sample->node = numbers[goes ? crowd : sample->node];
}

/* Renumbers nodes in place. Reuses the memory of `owners` for the new numbers. */
static void renumber_nodes(struct pruning *pruning, uint32_t crowd)
{
	struct profile *profile = pruning->profile;
	uint32_t *numbers = pruning->owners;
	size_t n = 0;

	for (size_t i = 0; i < profile->n_nodes; i++) {
		struct node node = profile->nodes[i];

		if (pruning->goes[i])
			continue;
		numbers[i] = n;
		node.parent = numbers[node.parent];
		profile->nodes[n++] = node;
	}
	for (size_t i = 0; i < profile->n_samples; i++)
		move_sample(pruning, &profile->samples[i], numbers, crowd);
	profile->n_nodes = n;
	profile->n_path = 0;
	node_index_deinit(&profile->node_index);
}

/* By location: its new number + 1; 0: no node has it. Location 0 means none. */
struct renumbering {
	struct pair_map *map;
	uint32_t *numbers;
};

static bool stays(uint64_t a, uint64_t b, uint64_t value, void *arg)
{
	const struct renumbering *renumbering = arg;

	return renumbering->numbers[value] != 0;
}

static void renumber_place(uint64_t a, uint64_t b, uint64_t value, void *arg)
{
	const struct renumbering *renumbering = arg;

	*pair_map_find(renumbering->map, a, b) = renumbering->numbers[value] - 1;
}

/* Moves up the calls of a location; calls are in the order of their locations. */
static void move_calls(struct profile *profile, struct profile_location *location, size_t *n_calls)
{
	memmove(profile->calls + *n_calls, profile->calls + location->first_call,
		location->n_calls * sizeof(*profile->calls));
	location->first_call = *n_calls;
	*n_calls += location->n_calls;
}

static void renumber_locations(struct profile *profile, uint32_t *numbers)
{
	struct renumbering renumbering = { &profile->location_of_place, numbers };
	size_t n = 1, n_calls = 0;

	for (size_t i = 1; i < profile->n_nodes; i++)
		numbers[profile->nodes[i].location] = 1;
	for (size_t i = 1; i < profile->n_locations; i++) {
		if (!numbers[i])
			continue;
		profile->locations[n] = profile->locations[i];
		if (profile->locations[n].n_calls)
			move_calls(profile, &profile->locations[n], &n_calls);
		numbers[i] = ++n;
	}
	for (size_t i = 1; i < profile->n_nodes; i++)
		profile->nodes[i].location = numbers[profile->nodes[i].location] - 1;
	pair_map_keep(&profile->location_of_place, stays, &renumbering);
	pair_map_each(&profile->location_of_place, renumber_place, &renumbering);
	profile->n_locations = n;
	profile->n_calls = n_calls;
}

int profile_prune(struct profile *profile, uint32_t crowd)
{
	_cleanup_(free_pruning) struct pruning pruning;
	_cleanup_free_ uint32_t *numbers = calloc(profile->n_locations, sizeof(*numbers));
	size_t n_wanted = profile->n_nodes / 2;

	if (allocate(&pruning, profile) < 0 || !numbers)
		return -ENOMEM;
	count(&pruning);
	drop(&pruning, n_wanted, find_share(&pruning, n_wanted), OF_NOBODY);
	drop(&pruning, n_wanted, 0, OF_SEVERAL);
	renumber_nodes(&pruning, crowd);
	renumber_locations(profile, numbers);
	return 0;
}
