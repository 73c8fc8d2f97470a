/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as text. Its columns are fixed, so that scripts can parse it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/text.h"
#include "common/source/perf-record.h"
#include "profile/subtree.h"
#include "stackpipe/report/report.h"

enum {
	PROCESSES_SHOWN = 5,
	IMAGES_SHOWN = 5,
	CALLS_SHOWN = 8,
	WAITS_SHOWN = 10,
	INDENT_MAX = 60,
	PERCENT_CUT_MAX = 1
};

/* Names the other views, when no --view was given. */
static void print_views(const struct report *report, FILE *out)
{
	const struct events *events = &report->recorder->stacks.events;
	struct view views[VIEWS_MAX];
	size_t n = events_views(events, views), i = 2;

	if (report->is_first_look) {
		uint64_t waited = report->options->view.kind == VIEW_WALL ? report->waits.sum : 0;

		fprintf(out, "%.3f s on a CPU, %.3f s of waits; separately:",
			report->options->unit ? (report->counts.sum - waited) / 1e9 : 0,
			report->waits.sum / 1e9);
		i = 1;
	} else {
		fprintf(out, "%s; other views:", events->list[0].name);
	}
	for (const char *between = ""; i < n; i++, between = ",")
		fprintf(out, "%s --view=%s", between, view_name(events, views[i]));
	putc('\n', out);
}

/* Suggests a larger stack size if many stacks were truncated. */
static void print_hint(const struct stacks *stacks, uint64_t n, FILE *out)
{
	double percent_cut = n ? 100.0 * stacks->n_ends[WIRE_stack_end_TRUNCATED] / n : 0;

	if (percent_cut > PERCENT_CUT_MAX && stacks->hello.stack_size < PERF_RECORD_STACK_MAX)
		fprintf(out, "record again with -s %d: %.0f %% of the stacks were cut\n",
			PERF_RECORD_STACK_MAX, percent_cut);
}

static void print_summary(const struct report *report, FILE *out)
{
	const struct stacks *stacks = &report->recorder->stacks;
	const struct wire_hello *hello = &stacks->hello;
	const struct events *events = &stacks->events;
	const struct profile *profile = &report->recorder->profile;
	uint64_t n = profile->n_taken, n_waits = 0, n_wakeups = 0;

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		n_waits += events_is_wait(events, sample->event) ? sample->n : 0;
		n_wakeups += events_is_wakeup(events, sample->event) ? sample->n : 0;
	}
	for (size_t i = 0; i < events->n; i++)
		fprintf(out, "%s%s", i ? ", " : "", events->list[i].name);
	fprintf(out, " of %s, %.1f s", *hello->host ? hello->host : "an unnamed host",
		(stacks->last_time - hello->start_time) / 1e9);
	if (hello->rate)
		fprintf(out, " at %" PRIu64 " Hz", hello->rate);
	fprintf(out, "\n%" PRIu64 " samples", n - n_waits - n_wakeups);
	if (n_waits)
		fprintf(out, ", %" PRIu64 " waits", n_waits);
	if (n_wakeups)
		fprintf(out, ", %" PRIu64 " wakeups", n_wakeups);
	fprintf(out, ", %" PRIu64 " lost", stacks->n_lost);
	if (stacks->n_skipped)
		fprintf(out, ", %" PRIu64 " left out", stacks->n_skipped);
	fprintf(out, "%s\n",
		report->end == STAGE_STREAM_WHOLE ? "" : "; INCOMPLETE: the recording ended early");
	fputs("stacks:", out);
	for (uint32_t end = 0; end < STACKS_ENDS; end++)
		if (stacks->n_ends[end])
			fprintf(out, "  %s %.2f %%", stacks_end_name(end),
				100.0 * stacks->n_ends[end] / n);
	putc('\n', out);
	print_hint(stacks, n, out);
	messages_print(&report->recorder->messages, out);
	if (report->options->view_name)
		fprintf(out, "%s: %.*f %s\n", report->options->view_name,
			report->options->unit ? 3 : 0, report_shown(report, report->counts.sum),
			report->options->unit_name);
	else if (events->n > 1)
		print_views(report, out);
	if (report->counts.n != n && events->n == 1)
		fprintf(out,
			report->counts.n ? "percentages are of the %" PRIu64 " matching samples\n"
					 : "%" PRIu64 " samples match\n",
			report->counts.n);
}

static size_t limit(const struct report *report, size_t n, size_t shown)
{
	size_t rows = report->options->n_rows;

	if (shown && rows && rows < shown)
		shown = rows;
	if (!shown)
		shown = rows ? rows : n;
	return n < shown ? n : shown;
}

/* Amounts divided for display have a fraction. */
static int decimals(const struct report *report)
{
	return report->options->unit ? 1 : 0;
}

static void print_rows(const struct report *report, const struct report_row *rows, size_t n,
		       FILE *out)
{
	const struct profile *profile = &report->recorder->profile;

	for (size_t i = 0; i < n; i++) {
		const char *name = profile_text(profile, rows[i].name);

		fprintf(out, "  %6.2f %%  %9.*f  %s", report_percent(report, rows[i].n),
			decimals(report), report_shown(report, rows[i].n), *name ? name : "-");
		if (rows[i].id)
			fprintf(out, " (%" PRIu32 ")", rows[i].id);
		putc('\n', out);
	}
}

static void print_group(const struct report *report, enum report_group group, const char *title,
			size_t shown, FILE *out)
{
	_cleanup_free_ struct report_row *rows = NULL;
	size_t n;

	if (report_group(report, group, &rows, &n) < 0 || (!n && group == REPORT_BY_WAKER))
		return;
	fprintf(out, "\n%s\n", title);
	print_rows(report, rows, limit(report, n, shown), out);
}

/* Samples by what programs publish. */
static void print_labels(const struct report *report, FILE *out)
{
	const struct report_labels *labels = &report->labels;

	fprintf(out, "\n%s\n", report->options->by_name);
	print_rows(report, labels->rows, limit(report, labels->n, report->options->n_rows), out);
	if (labels->n == 1 && !labels->rows->name)
		fprintf(out,
			"no sample has this: programs must publish it (OpenTelemetry's OTEP 4719 "
			"and 4947)\n");
}

/* Cuts a name to the width, for C++ names as long as a page. */
static void put_name(const char *name, size_t width, FILE *out)
{
	if (!width || strlen(name) <= width)
		fputs(name, out);
	else
		text_put_cut(name, width, out);
}

/* Prints "name file.c:12", the line only if known and requested. */
static void print_name(const struct report *report, const struct tree_function *function, FILE *out)
{
	const struct profile *profile = report->tree.profile;

	put_name(profile_text(profile, function->name), report->options->name_width, out);
	fputs(tree_kind_mark(function->kind), out);
	if (function->line.file)
		fprintf(out, " %s:%" PRIu32,
			text_last_part(profile_text(profile, function->line.file)),
			function->line.line);
}

/* Explains why --lines shows no line. */
static void print_why_no_lines(const struct report *report, FILE *out)
{
	for (size_t i = 0; i < report->tree.n_functions; i++)
		if (report->tree.functions[i].line.file)
			return;
	fputs("no source lines: no file had debug information at the time of the recording\n", out);
}

void report_print_functions(const struct report *report, FILE *out)
{
	const struct tree *tree = &report->tree;
	const struct profile *profile = tree->profile;
	_cleanup_free_ struct function_count *list = NULL;
	size_t n;

	if (counts_sort_functions(&report->counts, &list, &n) < 0)
		return;
	fprintf(out, "\n    self      total  %9s  function\n", report->options->unit_name);
	for (size_t i = 0; i < limit(report, n, 0); i++) {
		const struct tree_function *function = &tree->functions[list[i].function];
		const char *path = profile_text(profile, profile->modules[function->module].path);

		fprintf(out, "  %6.2f %%  %6.2f %%  %9.*f  ", report_percent(report, list[i].self),
			report_percent(report, list[i].total), decimals(report),
			report_shown(report, list[i].self));
		print_name(report, function, out);
		if (*path && function->kind != TREE_KERNEL)
			fprintf(out, "  %s", text_last_part(path));
		putc('\n', out);
	}
}

/* Prints branches from the root, the largest first, and a sum of those that are too small. */
static void print_branches(const struct report *report, const struct subtree *subtree,
			   uint32_t node, int depth, FILE *out)
{
	/* For callers it would count the samples that have them as outermost frame. */
	bool has_self = report->options->kind != REPORT_CALLERS;
	uint64_t skipped = 0;

	for (uint32_t child = subtree->nodes[node].first_child; child;
	     child = subtree->nodes[child].next_sibling) {
		const struct subtree_node *at = &subtree->nodes[child];
		const struct tree_function *function = &report->tree.functions[at->function];

		/* A requested function is shown however small it is. */
		if (report_percent(report, at->total) < report->options->min_percent &&
		    (depth || report->options->kind == REPORT_TREE)) {
			skipped += at->total;
			continue;
		}
		fprintf(out, "  %6.2f %%", report_percent(report, at->total));
		if (has_self)
			fprintf(out, "  %6.2f %%", report_percent(report, at->self));
		fprintf(out, "  %*s", depth < INDENT_MAX ? depth : INDENT_MAX, "");
		print_name(report, function, out);
		putc('\n', out);
		print_branches(report, subtree, child, depth + 1, out);
	}
	if (skipped && report_percent(report, skipped) >= report->options->min_percent)
		fprintf(out, "  %6.2f %%%*s  %*s(smaller branches)\n",
			report_percent(report, skipped), has_self ? 10 : 0, "",
			depth < INDENT_MAX ? depth : INDENT_MAX, "");
}

static bool has_subject(const struct report *report)
{
	for (size_t i = 0; i < report->tree.n_functions; i++)
		if (report->is_subject[i])
			return true;
	return false;
}

void report_print_tree(const struct report *report, FILE *out)
{
	static const char *const titles[] = {
		[REPORT_TREE] = "   total       self  call tree",
		[REPORT_CALLERS] = "   total  function, followed by its callers",
		[REPORT_CALLEES] = "   total       self  function, followed by its callees",
	};
	static const enum subtree_kind kinds[] = {
		[REPORT_TREE] = SUBTREE_ALL,
		[REPORT_CALLERS] = SUBTREE_CALLERS,
		[REPORT_CALLEES] = SUBTREE_CALLEES,
	};
	struct subtree subtree;

	fprintf(out, "\n%s\n", titles[report->options->kind]);
	if (report->is_subject && !has_subject(report))
		fputs("  no function name matches\n", out);
	if (subtree_init(&subtree, &report->counts, kinds[report->options->kind],
			 report->is_subject) == 0)
		print_branches(report, &subtree, 0, 0, out);
	subtree_deinit(&subtree);
}

/* Whether processes differ in their control group; one common group is not worth a list. */
static bool has_cgroups(const struct profile *profile)
{
	for (size_t i = 1; i < profile->n_processes; i++)
		if (profile->processes[i].cgroup != profile->processes[0].cgroup)
			return true;
	return false;
}

/* CPU times as accounted by the scheduler, independent of samples. */
static void print_thread_times(const struct report *report, FILE *out)
{
	const struct profile *profile = &report->recorder->profile;
	_cleanup_free_ uint32_t *list = NULL;
	size_t n = 0;

	if (report_threads_by_time(report, &list, &n) < 0 || !n)
		return;
	fputs("\n     on CPU    off CPU      waits  thread\n", out);
	for (size_t i = 0; i < limit(report, n, PROCESSES_SHOWN); i++) {
		const struct profile_thread *thread = &profile->threads[list[i]];

		fprintf(out, "  %8.3f s  %8.3f s  %9" PRIu64 "  %s (%" PRIu32 ")\n",
			thread->on_ns / 1e9, thread->off_ns / 1e9, thread->n_waits,
			profile_text(profile, thread->name), thread->tid);
	}
}

static void print_waits(const struct report *report, FILE *out)
{
	print_group(report, REPORT_BY_CALL, "waited for", CALLS_SHOWN, out);
	print_group(report, REPORT_BY_WAKER, "until woken by", PROCESSES_SHOWN, out);
}

/* For a first look: waits by reason and function of the program. */
static void print_first_waits(const struct report *report, FILE *out)
{
	const struct profile *profile = &report->recorder->profile;
	_cleanup_free_ struct report_wait *waits = NULL;
	size_t n;

	if (report_waits(report, &waits, &n) < 0 || !n)
		return;
	fputs("\nwaited            ms  for                   in\n", out);
	for (size_t i = 0; i < limit(report, n, WAITS_SHOWN); i++)
		fprintf(out, "  %6.2f %%  %9.1f  %-20s  %s\n",
			100.0 * waits[i].n / report->waits.sum, waits[i].n / 1e6,
			profile_text(profile, waits[i].reason),
			waits[i].function ? profile_text(profile, waits[i].function) : "-");
}

/* The larger of the two lists, waits and functions, comes first. */
static void print_first_look(const struct report *report, FILE *out)
{
	bool waits_first = report->waits.sum > report->counts.sum || !report->options->unit;

	if (report->is_first_look && waits_first)
		print_first_waits(report, out);
	if (report->is_first_look)
		fputs("\non a CPU\n", out);
	report_print_functions(report, out);
	if (report->is_first_look && !waits_first)
		print_first_waits(report, out);
}

/* Explains why the recording has no samples. */
static void print_why_nothing(const struct report *report, FILE *out)
{
	const struct stacks *stacks = &report->recorder->stacks;

	if (!strcmp(stacks->hello.event, "allocations"))
		fputs("this is a recording of allocations: use stackpipe heap FILE\n", out);
	else if (event_is_time(&stacks->events.list[0]) && !events_have_waits(&stacks->events))
		fputs("no samples: nothing ran on a CPU long enough; record with --off-cpu to see waits\n",
		      out);
}

void report_print_text(const struct report *report, FILE *out)
{
	print_summary(report, out);
	if (!report->recorder->profile.n_taken) {
		print_why_nothing(report, out);
		return;
	}
	if (report->options->detail == TREE_OF_LINES)
		print_why_no_lines(report, out);
	if (report->options->by.kind) {
		print_labels(report, out);
		return;
	}
	if (report->options->kind != REPORT_FUNCTIONS) {
		report_print_tree(report, out);
		return;
	}
	print_first_look(report, out);
	if (view_has_waits(&report->recorder->stacks.events, report->options->view))
		print_waits(report, out);
	print_group(report, REPORT_BY_PROCESS, "processes", PROCESSES_SHOWN, out);
	if (has_cgroups(&report->recorder->profile))
		print_group(report, REPORT_BY_CGROUP, "control groups", PROCESSES_SHOWN, out);
	print_group(report, REPORT_BY_THREAD, "threads", PROCESSES_SHOWN, out);
	print_thread_times(report, out);
	print_group(report, REPORT_BY_IMAGE, "binaries (self)", IMAGES_SHOWN, out);
}
