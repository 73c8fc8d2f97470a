/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded stacks: "comm;outermost;…;leaf N", one line a distinct stack, in the order of the text;
 * flamegraph.pl's marks behind names: _[k] of the kernel, _[i] inlined, _[j] of a JIT compiler. The
 * sink has counted all stacks by the time that they are written, at the end. Of a heap they have
 * the bytes that were alive at the peak.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sum.h"
#include "formats/whole-profile.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"

enum { LINE_SIZE_MAX = OUTPUT_BUFFER / 2 }; /* a longer one is cut, and counted */

static int compare(const void *a, const void *b, void *arg)
{
	const struct stack_count *left = a, *right = b;
	const uint32_t *ranks = arg;

	for (size_t i = 0; i < left->n_names && i < right->n_names; i++) {
		if (left->names[i] != right->names[i])
			return ranks[left->names[i]] < ranks[right->names[i]] ? -1 : 1;
	}
	return (left->n_names > right->n_names) - (left->n_names < right->n_names);
}

/* Lines come in the order of their text: each begins with most of the one before. */
struct line {
	char text[LINE_SIZE_MAX + 32];
	const struct stack_count *count;      /* whose line it is; NULL: none yet */
	uint32_t ends[STACK_COUNT_NAMES_MAX]; /* behind each name */
};

/* A frame's name: the separator may not stand in it. */
static size_t put_name(struct line *line, size_t used, const char *name)
{
	size_t size = strnlen(name, LINE_SIZE_MAX - used);
	char *at = line->text + used, *end = mempcpy(at, name, size);

	for (; (at = memchr(at, ';', end - at)); at++)
		*at = ':';
	return used + size;
}

static size_t count_common_names(const struct stack_count *a, const struct stack_count *b)
{
	size_t n = 0;

	while (n < a->n_names && n < b->n_names && a->names[n] == b->names[n])
		n++;
	return n;
}

/* Time as bcc's offcputime has it: in microseconds, at least one. */
static uint64_t shown(const struct capture *capture, uint64_t n)
{
	bool is_time = view_is_time(&capture->stacks.events, capture->view);

	if (!is_time || heap_is_there(&capture->heap))
		return n;
	return n < NANOSECONDS_A_MICROSECOND ? 1 : n / NANOSECONDS_A_MICROSECOND;
}

static int put_line(struct capture *capture, const struct stack_count *count, struct line *line)
{
	size_t i = line->count ? count_common_names(line->count, count) : 0;
	size_t used = i ? line->ends[i - 1] : 0;

	for (; i < count->n_names; i++) {
		if (i && used < LINE_SIZE_MAX)
			line->text[used++] = ';';
		used = put_name(line, used, names_text(&capture->stacks.names, count->names[i]));
		line->ends[i] = used;
	}
	line->count = count;
	if (used == LINE_SIZE_MAX)
		++*counters_get(&capture->stage->counters, "refused", "long-lines");
	used += sprintf(line->text + used, " %" PRIu64 "\n", shown(capture, count->n_samples));
	return output_add(&capture->output, line->text, used);
}

static int put_other(struct capture *capture)
{
	char text[64];
	int size = sprintf(text, "[more-stacks-than-fit] %" PRIu64 "\n",
			   shown(capture, capture->counts.n_other));

	return output_add(&capture->output, text, size);
}

/* The names on the way from a node outwards, turned round; a path is no longer than a stack. */
static size_t put_path(const struct profile *profile, uint32_t node, uint32_t thread,
		       uint32_t names[STACK_COUNT_NAMES_MAX])
{
	const struct profile_process *process =
		&profile->processes[profile->threads[thread].process];
	size_t first = STACK_COUNT_NAMES_MAX;

	for (; node && first > 1; node = profile->nodes[node].parent) {
		const uint32_t *label = &profile->locations[profile->nodes[node].location].label;
		size_t n;
		const uint32_t *list = names_of_label(&profile->stacks->names, label, &n);

		while (n-- > 0 && first > 1)
			names[--first] = names_meaning(&profile->stacks->names, list[n]);
	}
	names[--first] = process->name;
	memmove(names, names + first, (STACK_COUNT_NAMES_MAX - first) * sizeof(*names));
	return STACK_COUNT_NAMES_MAX - first;
}

static int begin(struct capture *capture)
{
	char text[STACKS_END_TEXT];

	stacks_end_text(WIRE_stack_end_MORE_STACKS, text);
	capture->counts.crowd = names_intern(&capture->stacks.names, text, strlen(text));
	return whole_profile_begin(capture);
}

/* The stacks of a heap take the place of those of samples. */
static int count_heap(struct capture *capture)
{
	const struct profile *profile = whole_profile_get(capture);
	_cleanup_free_ uint32_t *names = calloc(STACK_COUNT_NAMES_MAX, sizeof(*names));
	int r = names ? whole_profile_settle(capture) : -ENOMEM;

	for (size_t i = 0; i < profile->n_samples && r == 0; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		size_t n = put_path(profile, sample->node, sample->thread, names);

		r = stack_counts_add_many(&capture->counts, names, n, sample->weight);
	}
	return r;
}

/* What stands in the lines is what was counted. */
static int check_sum(const struct capture *capture, const struct stack_count *list, size_t n)
{
	uint64_t sum = capture->counts.n_other;

	for (size_t i = 0; i < n; i++)
		sum_add(&sum, list[i].n_samples);
	return sum == capture->n_counted ? 0 : -ENOTRECOVERABLE;
}

static int end_file(struct capture *capture, enum stage_stream_end end)
{
	_cleanup_free_ struct stack_count *list = NULL;
	_cleanup_free_ struct line *line = malloc(sizeof(*line));
	_cleanup_free_ uint32_t *ranks = NULL;
	size_t n = 0;
	int r;

	if (!line)
		return -ENOMEM;
	line->count = NULL;
	r = heap_is_there(&capture->heap) ? count_heap(capture) : 0;
	if (r == 0)
		r = names_rank(&capture->stacks.names, &ranks);
	if (r == 0)
		r = stack_counts_list(&capture->counts, compare, ranks, &list, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_line(capture, &list[i], line);
	if (r == 0 && capture->counts.n_other)
		r = put_other(capture);
	return r < 0 || heap_is_there(&capture->heap) ? r : check_sum(capture, list, n);
}

const struct format format_folded = {
	.name = "folded",
	.lacks = "times, losses, source lines, and which binary a function is in",
	.data_size = sizeof(struct whole_profile),
	.begin = begin,
	.add_frame = whole_profile_add_frame,
	.add_heap_stack = whole_profile_add_heap_stack,
	.free = whole_profile_free,
	.end = end_file,
};
