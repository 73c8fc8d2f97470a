/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe heap --against: change of memory by function since another recording. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "stackpipe/diff/folded-recording.h"
#include "stackpipe/heap/heap-report.h"

static int64_t change(const uint64_t values[static FOLDED_SIDES])
{
	return values[1] - values[0];
}

/* The largest change first. */
static int compare(const void *a, const void *b)
{
	const struct folded_function *left = *(void **)a, *right = *(void **)b;
	uint64_t by_left = llabs(change(left->self)), by_right = llabs(change(right->self));

	if (by_left == by_right) {
		by_left = llabs(change(left->total));
		by_right = llabs(change(right->total));
	}
	if (by_left != by_right)
		return by_left > by_right ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void print_text(const struct heap_against *against, const struct folded_counts *counts,
		       struct folded_function **list, size_t n)
{
	const char *unit = against->report->options.unit_name;

	printf("%s\nbefore: %" PRIu64 " %s (%s)\nafter:  %" PRIu64
	       " %s (%s)\n\n         self         total  function\n",
	       heap_metric_text(against->report->metric), counts->n[0], unit, against->before,
	       counts->n[1], unit, against->after);
	for (size_t i = 0; i < n && (change(list[i]->self) || change(list[i]->total)); i++)
		printf("  %+11" PRId64 "  %+12" PRId64 "  %s\n", change(list[i]->self),
		       change(list[i]->total), list[i]->name);
}

static void print_json(const struct heap_against *against, const struct folded_counts *counts,
		       struct folded_function **list, size_t n)
{
	printf("{\"amount\":\"%s\",\"unit\":\"%s\",\"sums\":[%" PRIu64 ",%" PRIu64 "],\n",
	       heap_metric_name(against->report->metric), against->report->options.unit_name,
	       counts->n[0], counts->n[1]);
	folded_counts_put_functions(list, n, stdout);
}

static int print(const struct heap_against *against, const struct folded_counts *counts)
{
	const struct report_options *options = &against->report->options;
	size_t n;
	_cleanup_free_ struct folded_function **list = folded_counts_list(counts, &n);

	if (!list)
		return STAGE_EXIT_FAILED;
	qsort(list, n, sizeof(*list), compare);
	if (options->n_rows && options->n_rows < n)
		n = options->n_rows;
	if (options->is_json)
		print_json(against, counts, list, n);
	else
		print_text(against, counts, list, n);
	return fflush(stdout) == 0 ? STAGE_EXIT_OK : STAGE_EXIT_FAILED;
}

int heap_against_print(const struct heap_against *against)
{
	_cleanup_(folded_counts_deinit) struct folded_counts counts = { 0 };
	const char *const paths[FOLDED_SIDES] = { against->before, against->after };
	int status = STAGE_EXIT_OK;
	char amount[32];

	snprintf(amount, sizeof(amount), "%s%s", heap_metric_name(against->report->metric),
		 against->report->unit == HEAP_BLOCKS ? ":blocks" : "");
	for (int side = 0; side < FOLDED_SIDES && status == STAGE_EXIT_OK; side++)
		status = folded_recording_read(&counts, paths[side], side, "heap", amount);
	return status == STAGE_EXIT_OK ? print(against, &counts) : status;
}
