/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The summary on stderr: what was captured, what is missing, and where the time went. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-sink/capture-sink.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/source/perf-record.h"

enum {
	FUNCTIONS_SHOWN = 10,
	STACKS_SHOWN = 3,
	FRAMES_SHOWN = 5, /* of a stack, from its leaf */
	NAME_SHOWN = 40,  /* bytes of each */
	FUNCTION_SHOWN = 100,
	PERCENT_SHOWN = 1,   /* of samples: images below have no line */
	PERCENT_CUT_MAX = 1, /* of stacks: the hint to capture more of them appears above */
};

#define KERNEL_MARK "_[k]" /* flamegraph.pl's */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static int by_samples(const void *a, const void *b, void *arg)
{
	const struct stack_count *left = a, *right = b;

	if (left->n_samples != right->n_samples)
		return left->n_samples > right->n_samples ? -1 : 1;
	/* The order must not depend on memory addresses. */
	for (size_t i = 0; i < left->n_names && i < right->n_names; i++)
		if (left->names[i] != right->names[i])
			return left->names[i] < right->names[i] ? -1 : 1;
	return (left->n_names > right->n_names) - (left->n_names < right->n_names);
}

/* Suggests larger stack captures, up to what the kernel copies at most. */
static void print_hint(const struct capture_sink *self, double percent_cut)
{
	if (percent_cut > PERCENT_CUT_MAX &&
	    self->recording.recorder.stacks.hello.stack_size < PERF_RECORD_STACK_MAX)
		fprintf(stderr, "  record again with -s %d: %.0f %% of the stacks were cut\n",
			PERF_RECORD_STACK_MAX, percent_cut);
}

static void print_ends(const struct capture_sink *self, uint64_t n_samples)
{
	fprintf(stderr, "Stacks ended:");
	for (uint32_t end = 0; end < STACKS_ENDS; end++)
		if (self->recording.recorder.stacks.n_ends[end])
			fprintf(stderr, "  %s %.2f %%", stacks_end_name(end),
				percent(self->recording.recorder.stacks.n_ends[end], n_samples));
	fputc('\n', stderr);
	print_hint(self, percent(self->recording.recorder.stacks.n_ends[WIRE_stack_end_TRUNCATED],
				 n_samples));
}

struct hot_function {
	uint32_t name;
	uint64_t n_self;
};

static int by_self(const void *a, const void *b)
{
	const struct hot_function *left = a, *right = b;

	if (left->n_self != right->n_self)
		return left->n_self > right->n_self ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static void print_functions(const struct capture_sink *self, uint64_t n_samples)
{
	const struct names *names = &self->recording.recorder.stacks.names;
	_cleanup_free_ struct hot_function *functions = calloc(names->n + 1, sizeof(*functions));

	if (!functions)
		return;
	for (uint32_t i = 0; i <= names->n && i < self->counted.leaves.n; i++) {
		uint32_t name = names_meaning(names, i);

		functions[name].name = name;
		functions[name].n_self += self->counted.leaves.n_samples[i];
	}
	qsort(functions, names->n + 1, sizeof(*functions), by_self);
	fprintf(stderr, "Hottest functions (self):\n");
	for (size_t i = 0; i < FUNCTIONS_SHOWN && i <= names->n; i++)
		if (functions[i].n_self) {
			fprintf(stderr, "  %6.2f %%  ", percent(functions[i].n_self, n_samples));
			text_put_cut(names_text(names, functions[i].name), FUNCTION_SHOWN, stderr);
			fputc('\n', stderr);
		}
}

/* The number of kernel frames at the leaf of a wait: how the kernel waits is not informative. */
static size_t count_waiting(const struct capture_sink *self, const struct stack_count *count)
{
	size_t n = 0;

	if (!view_has_waits(&self->recording.recorder.stacks.events, self->counted.view))
		return 0;
	while (n + 1 < count->n_names) {
		const char *name = names_text(&self->recording.recorder.stacks.names,
					      count->names[count->n_names - 1 - n]);

		if (!text_has_ending(name, KERNEL_MARK))
			return n;
		n++;
	}
	return 0; /* a kernel thread */
}

static void print_stacks(const struct capture_sink *self, const struct stack_count *list, size_t n,
			 uint64_t n_samples)
{
	fprintf(stderr, "Hottest stacks (leaf first%s):\n",
		self->counted.counts.n_other + self->counted.counts.n_crowded
			? "; lower bounds" /* stacks were dropped meanwhile */
			: "");
	for (size_t i = 0; i < n && i < STACKS_SHOWN; i++) {
		const struct stack_count *count = &list[i];
		size_t n_names = count->n_names - count_waiting(self, count);
		const char *between = "";

		fprintf(stderr, "  %6.2f %%  ", percent(count->n_samples, n_samples));
		for (size_t k = 0; k < FRAMES_SHOWN && k + 1 < n_names; k++) {
			fputs(between, stderr);
			text_put_cut(names_text(&self->recording.recorder.stacks.names,
						count->names[n_names - 1 - k]),
				     NAME_SHOWN, stderr);
			between = " < ";
		}
		fprintf(stderr, "%s  (%s)\n", n_names > FRAMES_SHOWN + 1 ? " < …" : "",
			names_text(&self->recording.recorder.stacks.names, count->names[0]));
	}
}

/* Lists images whose debug information would show more, if installed. */
static void print_without_debug(const struct capture_sink *self, uint64_t n_samples)
{
	const char *title =
		"No debug information (some names, inlined calls and lines are missing; "
		"--debuginfod=on):\n";

	for (size_t i = 0; i < IMAGES_SHOWN; i++) {
		const struct counted_image *image = &self->without_debug[i];

		if (100 * image->n_samples < n_samples * PERCENT_SHOWN || !image->n_samples)
			break;
		fprintf(stderr, "%s  %6.2f %%  %s\n", title, percent(image->n_samples, n_samples),
			names_text(&self->recording.recorder.stacks.names, image->name));
		title = "";
	}
}

static void print_amount(const char *what, struct heap_amount amount)
{
	fprintf(stderr, "  %-24s %" PRIu64 " bytes in %" PRIu64 " blocks\n", what, amount.bytes,
		heap_amount_in(amount, HEAP_BLOCKS));
}

/* For allocations. */
static void print_heap(const struct capture_sink *self, enum stage_stream_end end)
{
	const struct heap *heap = &self->recording.heap;
	char forgers[HEAP_FORGERS_TEXT];

	fprintf(stderr, "%s: %" PRIu64 " allocations and frees in %.1f s%s\n", self->path,
		heap->n_events, (heap->last_time - heap->first_time) / 1e9,
		end == STAGE_STREAM_WHOLE ? "" : "; INCOMPLETE: the stream ended early");
	if (heap->losses.since)
		fprintf(stderr,
			"  TAINTED: %" PRIu64 " allocations, %" PRIu64 " frees and %" PRIu64
			" other calls were lost from %.3f s on\n",
			heap->losses.n_allocated, heap->losses.n_freed, heap->losses.n_calls,
			(heap->losses.since - heap->first_time) / 1e9);
	if (heap->n_forgers)
		fprintf(stderr, "  " HEAP_FORGED "\n", heap_forgers_text(heap, forgers));
	if (heap->is_sampled)
		fputs("  sampled: amounts are estimates\n", stderr);
	print_amount("allocated", heap->totals.allocated);
	print_amount("alive at the peak", heap->peak);
	print_amount("never freed", heap->leaked);
	print_amount("freed at once", heap->totals.temporary);
}

static void print_totals(const struct capture_sink *self, uint64_t n_samples,
			 enum stage_stream_end end)
{
	const struct stacks *stacks = &self->recording.recorder.stacks;
	const struct events *events = &stacks->events;
	const char *separator = "";

	fprintf(stderr, "%s: %" PRIu64 " samples",
		strcmp(self->path, "-") ? self->path : "standard output",
		n_samples - self->counted.n_waits - self->counted.n_wakeups);
	if (self->counted.n_waits)
		fprintf(stderr, ", %" PRIu64 " waits", self->counted.n_waits);
	if (self->counted.n_wakeups)
		fprintf(stderr, ", %" PRIu64 " wakeups", self->counted.n_wakeups);
	fprintf(stderr, " in %.1f s of ", (stacks->last_time - stacks->hello.start_time) / 1e9);
	for (uint32_t i = 0; i < events->n; i++) {
		if (events_kind(events, i) != WIRE_event_kind_ON_CPU)
			continue;
		fprintf(stderr, "%s'%s'", separator, events->list[i].name);
		separator = ", ";
	}
	fprintf(stderr, ", %" PRIu64 " lost", stacks->n_lost);
	if (stacks->n_skipped)
		fprintf(stderr, ", %" PRIu64 " left out", stacks->n_skipped);
	fputs(end == STAGE_STREAM_WHOLE ? "\n" : "; INCOMPLETE: the stream ended early\n", stderr);
}

/* For a recording with waits: the totals, and the unit of the lists. */
static void print_times(const struct capture_sink *self)
{
	if (events_have_waits(&self->recording.recorder.stacks.events))
		fprintf(stderr,
			"%.3f s on CPU, %.3f s waiting; percentages are of %s (details: stackpipe "
			"report)\n",
			self->counted.on_cpu_ns / 1e9, self->counted.waited_ns / 1e9,
			view_name(&self->recording.recorder.stacks.events, self->counted.view));
}

/* For folded stacks: samples whose stacks were dropped. */
static void print_crowded(const struct capture_sink *self)
{
	if (self->counted.counts.n_crowded)
		fprintf(stderr,
			"  too many distinct stacks: %" PRIu64
			" samples are counted by thread only, without a stack\n",
			self->counted.counts.n_crowded);
}

void summary_print(const struct capture_sink *self, enum stage_stream_end end)
{
	_cleanup_free_ struct stack_count *list = NULL;
	uint64_t n_samples = 0;
	size_t n;

	if (heap_is_there(&self->recording.heap)) {
		print_heap(self, end);
		return;
	}
	for (size_t i = 0; i < STACKS_ENDS; i++)
		sum_add(&n_samples, self->recording.recorder.stacks.n_ends[i]);
	if (!n_samples && end != STAGE_STREAM_WHOLE) /* the reason was printed */
		return;
	print_totals(self, n_samples, end);
	if (self->format->lacks)
		fprintf(stderr, "  format %s does not store: %s\n", format_name(self->format),
			self->format->lacks);
	print_crowded(self);
	if (!n_samples && end == STAGE_STREAM_WHOLE &&
	    event_is_time(&self->recording.recorder.stacks.events.list[0]) &&
	    !events_have_waits(&self->recording.recorder.stacks.events))
		fputs("  nothing ran on a CPU long enough to be sampled: use --off-cpu to record "
		      "waits\n",
		      stderr);
	if (!n_samples || stack_counts_list(&self->counted.counts, by_samples, NULL, &list, &n) < 0)
		return;
	print_ends(self, n_samples);
	print_times(self);
	print_functions(self, self->counted.n_counted);
	print_stacks(self, list, n, self->counted.n_counted);
	print_without_debug(self, n_samples);
}
