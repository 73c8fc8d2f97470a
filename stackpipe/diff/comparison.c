/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/sum.h"
#include "profile/counts.h"
#include "profile/recorder.h"
#include "stackpipe/diff/comparison.h"
#include "stackpipe/input.h"

/* Filled in by the stage at the pipeline's end, whose callbacks have no other way to find them. */
static struct comparison *reading;
static struct compared_side *reading_side;

static struct compared_function *find(struct comparison *comparison, const char *name,
				      const char *mark)
{
	size_t size = strlen(name) + strlen(mark);
	struct compared_function *function = calloc(1, sizeof(*function) + size + 1), *known;

	if (!function)
		return NULL;
	sprintf(function->name, "%s%s", name, mark);
	HASH_FIND(hh, comparison->by_name, function->name, size, known);
	if (!known)
		HASH_ADD_KEYPTR(hh, comparison->by_name, function->name, size, function);
	if (!known && HASH_HAS(hh, function))
		return function;
	free(function);
	return known;
}

static int take_functions(const struct counts *counts, const struct counts *samples)
{
	const struct tree *tree = counts->tree;
	size_t side = reading_side - reading->sides;

	for (size_t i = 0; i < tree->n_functions; i++) {
		struct compared_function *function =
			find(reading, profile_text(tree->profile, tree->functions[i].name),
			     tree_kind_mark(tree->functions[i].kind));

		if (!function)
			return -ENOMEM;
		sum_add(&function->self[side], counts->functions[i].self);
		sum_add(&function->total[side], counts->functions[i].total);
		sum_add(&function->n[side], samples->functions[i].self);
	}
	return 0;
}

/* Merges functions of one name, as the next build may have them in another file. */
static int take_profile(const struct profile *profile, struct view view)
{
	const struct counts_filter filter = { .view = view, .has_waiters = true },
				   of_samples = { .view = { VIEW_SAMPLES, view.event } };
	struct counts counts = { 0 }, samples = { 0 };
	struct tree tree;
	int r = tree_init(&tree, profile, TREE_OF_NAMES);

	if (r == 0)
		r = counts_init(&counts, &tree, &filter);
	if (r == 0)
		r = counts_init(&samples, &tree, &of_samples);
	if (r == 0)
		r = take_functions(&counts, &samples);
	reading_side->sum = counts.sum;
	reading_side->n = samples.sum;
	counts_deinit(&samples);
	counts_deinit(&counts);
	tree_deinit(&tree);
	return r;
}

static int find_view(struct stage *stage, const struct events *events, struct view *ret)
{
	char names[EVENTS_VIEW_NAMES];

	*ret = (struct view){ VIEW_WEIGHTS, 0 };
	if (!reading->view_name || view_find(events, reading->view_name, ret))
		return 0;
	events_view_names(events, names);
	stage_error(stage, "'%s' has no view '%s'; it has: %s", reading_side->path,
		    reading->view_name, names);
	return -ECANCELED;
}

static int finish(struct stage *stage, void *self, enum stage_stream_end end)
{
	struct recorder *recorder = self;
	const struct stacks *stacks = &recorder->stacks;
	struct view view;
	int r = recorder_finish(recorder, stage);

	if (r == 0)
		r = find_view(stage, &stacks->events, &view);
	if (r < 0)
		return r;
	reading_side->seconds = (stacks->last_time - stacks->hello.start_time) / 1e9;
	reading_side->n_lost = stacks->n_lost;
	reading_side->is_whole = end == STAGE_STREAM_WHOLE;
	reading_side->is_time = view_is_time(&stacks->events, view);
	reading_side->is_sampled = !view_has_waits(&stacks->events, view);
	snprintf(reading_side->view, sizeof(reading_side->view), "%s",
		 view_name(&stacks->events, view));
	return take_profile(&recorder->profile, view);
}

/* As report does, without an interpreter's own functions that run a script's. */
static int start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct recorder *recorder = self;

	recorder->stacks.hides_interpreters = true;
	return recorder_start(stage, self, hello);
}

int comparison_read(struct comparison *comparison, int side)
{
	static const struct stage_handler handlers[] = { RECORDER_HANDLERS(0), { 0 } };
	static const struct stage_program program = {
		.name = "stackpipe diff",
		.role = STAGE_SINK,
		.self_size = sizeof(struct recorder),
		.handlers = handlers,
		.init = recorder_init,
		.start = start,
		.finish = finish,
		.deinit = recorder_deinit,
	};
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { .front = "stackpipe diff" };

	reading = comparison;
	reading_side = &comparison->sides[side];
	if (input_add_stages(&pipeline, reading_side->path, "diff") < 0)
		return STAGE_EXIT_FAILED;
	return pipeline_end_with(&pipeline, &program);
}

void comparison_deinit(struct comparison *comparison)
{
	struct compared_function *function, *next;

	HASH_ITER(hh, comparison->by_name, function, next)
	{
		HASH_DEL(comparison->by_name, function);
		free(function);
	}
}

struct compared_function **comparison_list(const struct comparison *comparison, size_t *ret_n)
{
	size_t n = HASH_COUNT(comparison->by_name);
	struct compared_function **list = calloc(n + 1, sizeof(*list));
	struct compared_function *function, *next;

	*ret_n = 0;
	HASH_ITER(hh, comparison->by_name, function, next)
	{
		if (list)
			list[(*ret_n)++] = function;
	}
	return list;
}
