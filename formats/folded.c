/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded stacks: "comm;outermost;…;leaf N", a line for each distinct stack, sorted by text. Names
 * have flamegraph.pl's suffixes: _[k] kernel, _[i] inlined, _[j] JIT code. Stacks are counted by
 * the time that they are written, at the end. Stacks of a heap have the bytes alive at the peak.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/sum.h"
#include "formats/format.h"
#include "formats/view-counts.h"

enum { LINE_SIZE_MAX = OUTPUT_BUFFER / 2 }; /* longer ones are cut, and counted */

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

/* The last line. Lines are sorted, so the next one mostly begins with the same names. */
struct folded_line {
	char text[LINE_SIZE_MAX + 32];
	const struct stack_count *count;      /* of this line; NULL: no line yet */
	uint32_t ends[STACK_COUNT_NAMES_MAX]; /* end of each name */
};

/* Appends a frame's name. It must not contain the separator. */
static size_t put_name(struct folded_line *line, size_t used, const char *name)
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

/* Like bcc's offcputime, times are in microseconds, at least one. */
static uint64_t shown(const struct export *export, uint64_t n)
{
	bool is_time = view_is_time(&export->profile->stacks->events, export->counts->view);

	if (!is_time || export_is_heap(export))
		return n;
	return n < NANOSECONDS_A_MICROSECOND ? 1 : n / NANOSECONDS_A_MICROSECOND;
}

static int put_line(const struct export *export, const struct stack_count *count,
		    struct folded_line *line)
{
	size_t i = line->count ? count_common_names(line->count, count) : 0;
	size_t used = i ? line->ends[i - 1] : 0;

	for (; i < count->n_names; i++) {
		if (i && used < LINE_SIZE_MAX)
			line->text[used++] = ';';
		used = put_name(line, used,
				names_text(&export->profile->stacks->names, count->names[i]));
		line->ends[i] = used;
	}
	line->count = count;
	if (used == LINE_SIZE_MAX)
		++*counters_get(export->counters, "refused", "long-lines");
	used += sprintf(line->text + used, " %" PRIu64 "\n", shown(export, count->n_samples));
	return output_add(export->output, line->text, used);
}

static int put_other(const struct export *export)
{
	char text[64];
	int size = sprintf(text, "[more-stacks-than-fit] %" PRIu64 "\n",
			   shown(export, export->counts->counts.n_other));

	return output_add(export->output, text, size);
}

/* The names of a path, the outermost first. A path is no longer than a stack may be. */
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

/* For a heap, counts its stacks in place of samples. */
static int count_heap(const struct export *export)
{
	const struct profile *profile = export->profile;
	_cleanup_free_ uint32_t *names = calloc(STACK_COUNT_NAMES_MAX, sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	for (size_t i = 0; i < profile->n_samples && r == 0; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		size_t n = put_path(profile, sample->node, sample->thread, names);

		r = stack_counts_add_many(&export->counts->counts, names, n, sample->weight);
	}
	return r;
}

/* Checks that the lines add up to what was counted. */
static int check_sum(const struct export *export, const struct stack_count *list, size_t n)
{
	uint64_t sum = export->counts->counts.n_other;

	for (size_t i = 0; i < n; i++)
		sum_add(&sum, list[i].n_samples);
	return sum == export->counts->n_counted ? 0 : -ENOTRECOVERABLE;
}

static int write_file(const struct export *export)
{
	_cleanup_free_ struct stack_count *list = NULL;
	_cleanup_free_ struct folded_line *line = malloc(sizeof(*line));
	_cleanup_free_ uint32_t *ranks = NULL;
	size_t n = 0;
	int r;

	if (!line)
		return -ENOMEM;
	line->count = NULL;
	r = export_is_heap(export) ? count_heap(export) : 0;
	if (r == 0)
		r = names_rank(&export->profile->stacks->names, &ranks);
	if (r == 0)
		r = stack_counts_list(&export->counts->counts, compare, ranks, &list, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_line(export, &list[i], line);
	if (r == 0 && export->counts->counts.n_other)
		r = put_other(export);
	return r < 0 || export_is_heap(export) ? r : check_sum(export, list, n);
}

const struct format format_folded = {
	.lacks = "times, losses, source lines and the binary of each function",
	.is_for_terminals = true,
	.is_of_counts = true,
	.write = write_file,
};
