/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a heap report as text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "stackpipe/heap/heap-report.h"

enum { GRAPH_WIDTH = 72, GRAPH_HEIGHT = 8, THREADS_SHOWN = 8, SIZE_TEXT = 24 };

static const char *size_text(uint64_t bytes, char ret[static SIZE_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1024;
		unit++;
	}
	snprintf(ret, SIZE_TEXT, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
	return ret;
}

static void print_amount(FILE *out, const char *what, struct heap_amount amount, const char *more)
{
	char size[SIZE_TEXT];

	fprintf(out, "  %-22s %12s in %" PRIu64 " blocks%s\n", what, size_text(amount.bytes, size),
		heap_amount_in(amount, HEAP_BLOCKS), more);
}

static void print_losses(const struct heap_report *report, FILE *out)
{
	const struct heap *heap = &report->heap->heap;
	const struct heap_losses *losses = &heap->losses;
	char forgers[HEAP_FORGERS_TEXT];

	if (report->end != STAGE_STREAM_WHOLE)
		fputs("INCOMPLETE: the recording ended early\n", out);
	if (losses->since)
		fprintf(out,
			"TAINTED from %.3f s on: %" PRIu64 " allocations (%" PRIu64
			" bytes), %" PRIu64 " frees and %" PRIu64
			" other calls were lost: blocks shown as alive may have "
			"been freed\n",
			(losses->since - heap->first_time) / 1e9, losses->n_allocated,
			losses->n_bytes, losses->n_freed, losses->n_calls);
	if (heap->n_forgers)
		fprintf(out, HEAP_FORGED "\n", heap_forgers_text(heap, forgers));
	if (heap->is_sampled)
		fputs("sampled: amounts are estimates\n", out);
	if (heap->n_refused)
		fprintf(out, "%" PRIu64 " events were refused: they exceed limits or are invalid\n",
			heap->n_refused);
	if (heap->n_unknown_frees && !heap->is_sampled)
		fprintf(out,
			"%" PRIu64 " frees were of blocks allocated before the recording began\n",
			heap->n_unknown_frees);
}

static void print_summary(const struct heap_report *report, FILE *out)
{
	const struct heap *heap = &report->heap->heap;
	double seconds = (heap->last_time - heap->first_time) / 1e9;
	char text[64];

	fprintf(out, "%" PRIu64 " events of %" PRIu64 " process%s in %.2f s\n", heap->n_events,
		heap->n_processes, heap->n_processes == 1 ? "" : "es", seconds);
	print_losses(report, out);
	snprintf(text, sizeof(text), ", %.0f per second",
		 seconds > 0 ? heap_amount_in(heap->totals.allocated, HEAP_BLOCKS) / seconds : 0);
	print_amount(out, "allocated", heap->totals.allocated, text);
	snprintf(text, sizeof(text), ", after %.3f s",
		 heap->peak_time ? (heap->peak_time - heap->first_time) / 1e9 : 0);
	print_amount(out, "peak", heap->peak, text);
	print_amount(out, "never freed", heap->leaked, "");
	if (heap->mapped.n) {
		print_amount(out, "of which mapped", heap->mapped, " (by mmap(2) and mremap(2))");
		print_amount(out, "never unmapped", heap->mapped_leaked, "");
	}
	print_amount(out, "freed at once", heap->totals.temporary,
		     " (by the same thread, before its next allocation)");
	print_amount(out, "freed by other threads", heap->totals.foreign, "");
}

/* Plots live bytes over time; a column shows the maximum of its intervals. */
static void print_graph(const struct heap *heap, FILE *out)
{
	const struct timeline *timeline = &heap->timeline;
	uint32_t width = timeline->n < GRAPH_WIDTH ? timeline->n : GRAPH_WIDTH;
	char top[SIZE_TEXT];

	if (!heap->peak.bytes)
		return;
	fprintf(out, "\nalive over time, at most %s\n", size_text(heap->peak.bytes, top));
	for (int row = GRAPH_HEIGHT; row > 0; row--) {
		fputs("  |", out);
		for (uint32_t x = 0; x < width; x++) {
			uint32_t from = (uint64_t)x * timeline->n / width;
			uint32_t to = (uint64_t)(x + 1) * timeline->n / width;
			uint64_t most = 0;

			for (uint32_t i = from; i < to; i++)
				if (timeline->intervals[i].most_bytes > most)
					most = timeline->intervals[i].most_bytes;
			putc(most * GRAPH_HEIGHT > heap->peak.bytes / GRAPH_HEIGHT * GRAPH_HEIGHT *
							   (row - 1)
				     ? '#'
				     : ' ',
			     out);
		}
		putc('\n', out);
	}
	fprintf(out, "  +%.*s %.2f s\n", (int)width,
		"------------------------------------------------------------------------",
		timeline->n * timeline->length / 1e9);
}

/* Print the exclusive upper limit of a class of sizes, or of lifetimes. */
static void put_size_limit(unsigned class, FILE *out)
{
	char text[SIZE_TEXT];

	fprintf(out, "%11s", size_text(1ULL << class, text));
}

static void put_time_limit(unsigned class, FILE *out)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = 1ULL << class;
	size_t unit = 0;

	while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
		value /= 1000;
		unit++;
	}
	fprintf(out, "%8.4g %-2s", value, units[unit]);
}

static void print_classes(const char *title, const struct heap_amount *classes,
			  void (*put_limit)(unsigned class, FILE *out), FILE *out)
{
	uint64_t all = 0;

	for (int i = 0; i < HEAP_CLASSES; i++)
		all += heap_amount_in(classes[i], HEAP_BLOCKS);
	if (!all)
		return;
	fprintf(out, "\n%s\n", title);
	for (int i = 0; i < HEAP_CLASSES; i++) {
		uint64_t n = heap_amount_in(classes[i], HEAP_BLOCKS);

		if (!n)
			continue;
		fputs("  below ", out);
		put_limit(i, out);
		fprintf(out, "  %6.2f %%  %9" PRIu64 " blocks\n", 100.0 * n / all, n);
	}
}

static int compare_threads(const void *a, const void *b)
{
	const struct heap_thread *const *left = a, *const *right = b;
	uint64_t by_left = (*left)->totals.allocated.bytes,
		 by_right = (*right)->totals.allocated.bytes;

	return by_left < by_right ? 1 : by_left > by_right ? -1 : 0;
}

static void print_threads(struct heap_report *report, FILE *out)
{
	const struct heap *heap = &report->heap->heap;
	_cleanup_free_ const struct heap_thread **list = calloc(heap->n_threads + 1, sizeof(*list));
	char allocated[SIZE_TEXT], freed[SIZE_TEXT], foreign[SIZE_TEXT];

	if (!list || !heap->n_threads)
		return;
	for (size_t i = 0; i < heap->n_threads; i++)
		list[i] = &heap->threads[i];
	qsort(list, heap->n_threads, sizeof(*list), compare_threads);
	fputs("\n   allocated        freed  freed by other threads  thread\n", out);
	for (size_t i = 0; i < heap->n_threads && i < THREADS_SHOWN; i++)
		fprintf(out, "  %10s  %11s  %22s  %s (%" PRIu32 ")\n",
			size_text(list[i]->totals.allocated.bytes, allocated),
			size_text(list[i]->freed.bytes, freed),
			size_text(list[i]->totals.foreign.bytes, foreign),
			heap_thread_name(report->heap, list[i]), list[i]->tid);
}

/* Prints distributions for those metrics that have their own. */
static void print_distributions(const struct heap_report *report, FILE *out)
{
	const struct heap *heap = &report->heap->heap;

	switch (report->metric) {
	case HEAP_AT_PEAK: /* the default report */
	case HEAP_ALLOCATED:
		print_classes("sizes of allocated blocks", heap->sizes, put_size_limit, out);
		print_classes("lifetimes of freed blocks", heap->lifetimes, put_time_limit, out);
		return;
	case HEAP_LEAKED:
		print_classes("sizes of blocks never freed", heap->leaked_sizes, put_size_limit,
			      out);
		print_classes("ages, at the end, of blocks never freed", heap->leaked_ages,
			      put_time_limit, out);
		return;
	default:
		return;
	}
}

/* Prints the call tree: all of it, or around the requested functions. 0 or -ENOMEM. */
static int print_tree(struct report *lists, FILE *out)
{
	const struct tree *tree = &lists->tree;
	const regex_t *subject = lists->options->subject;
	_cleanup_free_ bool *is_subject =
		subject ? calloc(tree->n_functions + 1, sizeof(*is_subject)) : NULL;

	if (subject && !is_subject)
		return -ENOMEM;
	for (size_t i = 0; subject && i < tree->n_functions; i++)
		is_subject[i] =
			regexec(subject, profile_text(tree->profile, tree->functions[i].name), 0,
				NULL, 0) == 0;
	lists->is_subject = is_subject;
	report_print_tree(lists, out);
	return 0;
}

static int print_lists(struct heap_report *report, FILE *out)
{
	struct heap_counts counts;
	struct report lists = {
		.options = &report->options,
		.recorder = &report->heap->recorder,
		.end = report->end,
	};
	int r = heap_counts_init(&counts, report, report->metric);

	if (r == 0) {
		lists.tree = counts.tree;
		lists.counts = counts.counts;
		fprintf(out, "\n%s, in %s:\n", heap_metric_text(report->metric),
			report->options.unit_name);
		if (report->options.kind == REPORT_FUNCTIONS)
			report_print_functions(&lists, out);
		else
			r = print_tree(&lists, out);
	}
	heap_counts_deinit(&counts);
	return r;
}

static int print_changes(struct heap_report *report, FILE *out)
{
	struct heap_counts before, after = { 0 };
	_cleanup_free_ struct heap_change *changes = NULL;
	size_t n = 0, n_shown = report->options.n_rows;
	int r = heap_counts_init(&before, report, HEAP_AT_POINT_1);

	if (r == 0)
		r = heap_counts_init(&after, report, HEAP_AT_POINT_2);
	if (r == 0)
		r = heap_changes(&before, &after, &changes, &n);
	if (r == 0) {
		fprintf(out,
			"\nalive at %.3f s: %" PRIu64 " %s; at %.3f s: %" PRIu64
			"\n\n         self         total  function\n",
			report->points[0], before.counts.sum, report->options.unit_name,
			report->points[1], after.counts.sum);
		for (size_t i = 0; i < n && (!n_shown || i < n_shown); i++)
			fprintf(out, "  %+11" PRId64 "  %+12" PRId64 "  %s\n", changes[i].self,
				changes[i].total,
				profile_text(before.tree.profile,
					     before.tree.functions[changes[i].function].name));
	}
	heap_counts_deinit(&before);
	heap_counts_deinit(&after);
	return r;
}

int heap_report_print_text(struct heap_report *report, FILE *out)
{
	const struct heap *heap = &report->heap->heap;
	int r;

	if (!heap_is_there(heap)) {
		fputs("this recording has no allocations: record them with stackpipe heap -- COMMAND\n",
		      out);
		return 0;
	}
	print_summary(report, out);
	messages_print(&report->heap->recorder.messages, out);
	if (report->points[0] >= 0)
		return print_changes(report, out);
	if (report->options.kind == REPORT_FUNCTIONS)
		print_graph(heap, out);
	r = print_lists(report, out);
	if (r == 0 && report->options.kind == REPORT_FUNCTIONS) {
		print_distributions(report, out);
		print_threads(report, out);
	}
	return r;
}
