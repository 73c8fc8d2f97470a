/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a heap report as one JSON object, amounts as [blocks, bytes]. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/json.h"
#include "stackpipe/heap/heap-report.h"

static void put_amount(FILE *out, const char *name, struct heap_amount amount)
{
	fprintf(out, "\"%s\":[%" PRIu64 ",%" PRIu64 "]", name, heap_amount_in(amount, HEAP_BLOCKS),
		amount.bytes);
}

static void put_totals(FILE *out, const struct heap_totals *totals)
{
	put_amount(out, "allocated", totals->allocated);
	fputs(",", out);
	put_amount(out, "temporary", totals->temporary);
	fputs(",", out);
	put_amount(out, "foreign", totals->foreign);
}

static void put_classes(FILE *out, const char *name, const struct heap_amount *classes)
{
	fprintf(out, ",\n\"%s\":[", name);
	for (int i = 0; i < HEAP_CLASSES; i++)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			heap_amount_in(classes[i], HEAP_BLOCKS), classes[i].bytes);
	fputs("]", out);
}

static void put_timeline(FILE *out, const struct heap *heap)
{
	const struct timeline *timeline = &heap->timeline;

	fprintf(out, ",\n\"timeline\":{\"seconds\":%.9f,\"intervals\":[", timeline->length / 1e9);
	for (uint32_t i = 0; i < timeline->n; i++)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			timeline->intervals[i].most_bytes, timeline->intervals[i].last_blocks,
			timeline->intervals[i].n_allocated, timeline->intervals[i].n_freed);
	fputs("]}", out);
}

static void put_threads(FILE *out, struct heap_recorder *recorder)
{
	const struct heap *heap = &recorder->heap;

	fputs(",\n\"threads\":[", out);
	for (size_t i = 0; i < heap->n_threads; i++) {
		const struct heap_thread *thread = &heap->threads[i];

		fprintf(out,
			"%s\n{\"process\":%" PRIu64 ",\"tid\":%" PRIu32 ",\"name\":", i ? "," : "",
			thread->process, thread->tid);
		json_put_text(out, heap_thread_name(recorder, thread));
		fputs(",", out);
		put_totals(out, &thread->totals);
		fputs(",", out);
		put_amount(out, "freed", thread->freed);
		fputs("}", out);
	}
	fputs("]", out);
}

static void put_losses(FILE *out, const struct heap *heap)
{
	const struct heap_losses *losses = &heap->losses;

	fprintf(out,
		",\n\"lost\":{\"since\":%.9f,\"allocations\":%" PRIu64 ",\"frees\":%" PRIu64
		",\"bytes\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"blocked\":%.9f}",
		losses->since ? (losses->since - heap->first_time) / 1e9 : -1, losses->n_allocated,
		losses->n_freed, losses->n_bytes, losses->n_calls, losses->blocked_ns / 1e9);
}

/* Writes the number of forgers, and the PIDs and names of the first ones. */
static void put_forgers(FILE *out, const struct heap *heap)
{
	fprintf(out, ",\n\"n_forged\":%" PRIu64 ",\"forged\":[", heap->n_forgers);
	for (uint64_t i = 0; i < heap->n_forgers && i < HEAP_FORGERS_NAMED; i++) {
		fprintf(out, "%s{\"pid\":%" PRIu32 ",\"name\":", i ? "," : "",
			heap->forgers[i].pid);
		json_put_text(out, heap->forgers[i].name);
		fputs("}", out);
	}
	fputs("]", out);
}

static int put_functions(FILE *out, struct heap_report *report, const char *name,
			 enum heap_metric metric)
{
	struct heap_counts counts;
	_cleanup_free_ struct function_count *list = NULL;
	size_t n = 0;
	int r = heap_counts_init(&counts, report, metric);

	if (r == 0)
		r = counts_sort_functions(&counts.counts, &list, &n);
	fprintf(out, ",\n\"%s\":[", name);
	for (size_t i = 0; i < n && r == 0; i++) {
		fputs(i ? ",\n{\"function\":" : "\n{\"function\":", out);
		json_put_text(out, profile_text(counts.tree.profile,
						counts.tree.functions[list[i].function].name));
		fprintf(out, ",\"self\":%" PRIu64 ",\"total\":%" PRIu64 "}", list[i].self,
			list[i].total);
	}
	fputs("]", out);
	heap_counts_deinit(&counts);
	return r;
}

int heap_report_print_json(struct heap_report *report, FILE *out)
{
	static const struct {
		const char *name;
		enum heap_metric metric;
	} lists[] = {
		{ "functions_at_peak", HEAP_AT_PEAK },
		{ "functions_leaked", HEAP_LEAKED },
		{ "functions_allocated", HEAP_ALLOCATED },
		{ "functions_temporary", HEAP_TEMPORARY },
		{ "functions_foreign", HEAP_FOREIGN },
		{ "functions_at_point_1", HEAP_AT_POINT_1 },
		{ "functions_at_point_2", HEAP_AT_POINT_2 },
	};
	const struct heap *heap = &report->heap->heap;
	int r = 0;

	fprintf(out, "{\"events\":%" PRIu64 ",\"seconds\":%.9f,\"complete\":%s,\"sampled\":%s,",
		heap->n_events, (heap->last_time - heap->first_time) / 1e9,
		report->end == STAGE_STREAM_WHOLE ? "true" : "false",
		heap->is_sampled ? "true" : "false");
	put_totals(out, &heap->totals);
	fputs(",", out);
	put_amount(out, "freed", heap->freed);
	fputs(",", out);
	put_amount(out, "leaked", heap->leaked);
	fputs(",", out);
	put_amount(out, "mapped", heap->mapped);
	fputs(",", out);
	put_amount(out, "mapped_leaked", heap->mapped_leaked);
	fputs(",", out);
	put_amount(out, "peak", heap->peak);
	fprintf(out, ",\"peak_seconds\":%.9f,\"unknown_frees\":%" PRIu64 ",\"refused\":%" PRIu64,
		heap->peak_time ? (heap->peak_time - heap->first_time) / 1e9 : 0,
		heap->n_unknown_frees, heap->n_refused);
	put_losses(out, heap);
	put_forgers(out, heap);
	put_classes(out, "sizes", heap->sizes);
	put_classes(out, "lifetimes", heap->lifetimes);
	put_classes(out, "leaked_sizes", heap->leaked_sizes);
	put_classes(out, "leaked_ages", heap->leaked_ages);
	put_timeline(out, heap);
	put_threads(out, report->heap);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists) && r == 0; i++)
		if (lists[i].metric < HEAP_AT_POINT_1 || report->points[0] >= 0)
			r = put_functions(out, report, lists[i].name, lists[i].metric);
	fputs("}\n", out);
	return r;
}
