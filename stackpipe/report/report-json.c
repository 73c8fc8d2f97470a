/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report as one JSON object; counts are samples, or weights with a view of those. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/json.h"
#include "profile/subtree.h"
#include "stackpipe/report/report.h"

static const char *const kinds[] = {
	[TREE_USER] = "user", [TREE_KERNEL] = "kernel", [TREE_JIT] = "jit",
	[TREE_CUT] = "cut",   [TREE_SCRIPT] = "script", [TREE_INLINED] = "inlined",
};

static void put_function(const struct report *report, uint32_t number, FILE *out)
{
	const struct tree_function *function = &report->tree.functions[number];
	const struct profile *profile = report->tree.profile;

	fputs("{\"function\":", out);
	json_put_text(out, profile_text(profile, function->name));
	fputs(",\"image\":", out);
	json_put_text(out, profile_text(profile, profile->modules[function->module].path));
	fprintf(out, ",\"kind\":\"%s\"", kinds[function->kind]);
	if (!function->line.file)
		return;
	fputs(",\"file\":", out);
	json_put_text(out, profile_text(profile, function->line.file));
	fprintf(out, ",\"line\":%" PRIu32, function->line.line);
}

static void put_summary(const struct report *report, FILE *out)
{
	const struct stacks *stacks = &report->recorder->stacks;
	const struct profile *profile = &report->recorder->profile;
	struct json json = { .out = out };

	json_begin(&json, NULL);
	json_text(&json, "host", stacks->hello.host);
	json_text(&json, "event", stacks->hello.event);
	json_number(&json, "rate", stacks->hello.rate);
	json_seconds(&json, "seconds", (stacks->last_time - stacks->hello.start_time) / 1e9);
	json_number(&json, "samples", profile->n_taken);
	json_number(&json, "looked_at", report->counts.n);
	json_text(&json, "counted",
		  report->options->view_name		       ? report->options->view_name
		  : report->options->view.kind == VIEW_WEIGHTS ? "weights"
							       : "samples");
	json_number(&json, "sum", report->counts.sum);
	json_number(&json, "lost", stacks->n_lost);
	json_number(&json, "left_out", stacks->n_skipped);
	fprintf(out, ", \"complete\": %s", report->end == STAGE_STREAM_WHOLE ? "true" : "false");
	json_begin(&json, "ends");
	for (uint32_t end = 0; end < STACKS_ENDS; end++)
		if (stacks->n_ends[end])
			json_number(&json, stacks_end_name(end), stacks->n_ends[end]);
	json_end(&json);
	json_end(&json);
}

static size_t limit(const struct report *report, size_t n)
{
	size_t rows = report->options->n_rows;

	return rows && rows < n ? rows : n;
}

static void put_functions(const struct report *report, FILE *out)
{
	_cleanup_free_ struct function_count *list = NULL;
	size_t n = 0;

	if (counts_sort_functions(&report->counts, &list, &n) < 0)
		return;
	fprintf(out, ",\n\"n_functions\": %zu,\n\"functions\": [", n);
	for (size_t i = 0; i < limit(report, n); i++) {
		fputs(i ? ",\n" : "\n", out);
		put_function(report, list[i].function, out);
		fprintf(out, ",\"self\":%" PRIu64 ",\"total\":%" PRIu64 "}", list[i].self,
			list[i].total);
	}
	fputs("]", out);
}

static void put_rows(const struct report *report, const struct report_row *rows, size_t n,
		     const char *title, const char *id, FILE *out)
{
	fprintf(out, ",\n\"%s\": [", title);
	for (size_t i = 0; i < limit(report, n); i++) {
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		json_put_text(out, profile_text(report->tree.profile, rows[i].name));
		if (id)
			fprintf(out, ",\"%s\":%" PRIu32, id, rows[i].id);
		fprintf(out, ",\"samples\":%" PRIu64 "}", rows[i].n);
	}
	fputs("]", out);
}

static void put_group(const struct report *report, enum report_group group, const char *title,
		      const char *id, FILE *out)
{
	_cleanup_free_ struct report_row *rows = NULL;
	size_t n;

	if (report_group(report, group, &rows, &n) == 0)
		put_rows(report, rows, n, title, id, out);
}

/* Adds the container and unit that the path names. */
static void put_cgroups(const struct report *report, FILE *out)
{
	_cleanup_free_ struct report_row *rows = NULL;
	char label[CGROUP_LABEL_MAX];
	size_t n;

	if (report_group(report, REPORT_BY_CGROUP, &rows, &n) < 0)
		return;
	fputs(",\n\"cgroups\": [", out);
	for (size_t i = 0; i < limit(report, n); i++) {
		const char *path = profile_text(report->tree.profile, rows[i].name);

		fputs(i ? ",\n{\"path\":" : "\n{\"path\":", out);
		json_put_text(out, path);
		cgroup_container(path, label);
		fputs(",\"container\":", out);
		json_put_text(out, label);
		cgroup_unit(path, label);
		fputs(",\"unit\":", out);
		json_put_text(out, label);
		fprintf(out, ",\"samples\":%" PRIu64 "}", rows[i].n);
	}
	fputs("]", out);
}

/* Waits by reason and function of the program. */
static void put_waits(const struct report *report, FILE *out)
{
	const struct profile *profile = &report->recorder->profile;
	_cleanup_free_ struct report_wait *waits = NULL;
	size_t n;

	if (report_waits(report, &waits, &n) < 0)
		return;
	fputs(",\n\"waits\": [", out);
	for (size_t i = 0; i < limit(report, n); i++) {
		fputs(i ? ",\n{\"for\":" : "\n{\"for\":", out);
		json_put_text(out, profile_text(profile, waits[i].reason));
		fputs(",\"in\":", out);
		json_put_text(out,
			      waits[i].function ? profile_text(profile, waits[i].function) : "");
		fprintf(out, ",\"ns\":%" PRIu64 "}", waits[i].n);
	}
	fputs("]", out);
}

/* CPU times as accounted by the scheduler, independent of samples. */
static void put_thread_times(const struct report *report, FILE *out)
{
	const struct profile *profile = &report->recorder->profile;
	_cleanup_free_ uint32_t *list = NULL;
	size_t n = 0;

	if (report_threads_by_time(report, &list, &n) < 0)
		return;
	fputs(",\n\"thread_times\": [", out);
	for (size_t i = 0; i < limit(report, n); i++) {
		const struct profile_thread *thread = &profile->threads[list[i]];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		json_put_text(out, profile_text(profile, thread->name));
		fprintf(out,
			",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"on_cpu_ns\":%" PRIu64
			",\"off_cpu_ns\":%" PRIu64 ",\"waits\":%" PRIu64 "}",
			profile->processes[thread->process].pid, thread->tid, thread->on_ns,
			thread->off_ns, thread->n_waits);
	}
	fputs("]", out);
}

/* Writes the subtree below a node. */
static void put_branches(const struct report *report, const struct subtree *subtree, uint32_t node,
			 FILE *out)
{
	const char *between = "";

	putc('[', out);
	for (uint32_t child = subtree->nodes[node].first_child; child;
	     child = subtree->nodes[child].next_sibling) {
		const struct subtree_node *at = &subtree->nodes[child];

		if (report_percent(report, at->total) < report->options->min_percent)
			continue;
		fputs(between, out);
		put_function(report, at->function, out);
		fprintf(out, ",\"self\":%" PRIu64 ",\"total\":%" PRIu64 ",\"children\":", at->self,
			at->total);
		put_branches(report, subtree, child, out);
		putc('}', out);
		between = ",\n";
	}
	putc(']', out);
}

static void put_tree(const struct report *report, FILE *out)
{
	static const enum subtree_kind trees[] = {
		[REPORT_TREE] = SUBTREE_ALL,
		[REPORT_CALLERS] = SUBTREE_CALLERS,
		[REPORT_CALLEES] = SUBTREE_CALLEES,
	};
	struct subtree subtree;

	fputs(",\n\"tree\": ", out);
	if (subtree_init(&subtree, &report->counts, trees[report->options->kind],
			 report->is_subject) == 0)
		put_branches(report, &subtree, 0, out);
	else
		fputs("null", out);
	subtree_deinit(&subtree);
}

static void put_messages(const struct messages *messages, FILE *out)
{
	fputs(",\n\"messages\": [", out);
	for (size_t i = 0; i < messages->n; i++) {
		fputs(i ? ",\n{\"stage\":" : "\n{\"stage\":", out);
		json_put_text(out, messages->list[i].stage);
		fputs(",\"text\":", out);
		json_put_text(out, messages->list[i].text);
		putc('}', out);
	}
	fputs("]", out);
}

void report_print_json(const struct report *report, FILE *out)
{
	fputs("{\"summary\": ", out);
	put_summary(report, out);
	if (report->options->by.kind) {
		fputs(",\n\"by\": ", out);
		json_put_text(out, report->options->by_name);
		put_rows(report, report->labels.rows, report->labels.n, "labels", NULL, out);
	} else if (report->options->kind == REPORT_FUNCTIONS) {
		put_functions(report, out);
		put_group(report, REPORT_BY_PROCESS, "processes", "pid", out);
		put_group(report, REPORT_BY_THREAD, "threads", "tid", out);
		put_cgroups(report, out);
		put_group(report, REPORT_BY_IMAGE, "images", NULL, out);
		if (events_have_waits(&report->recorder->stacks.events)) {
			if (view_has_waits(&report->recorder->stacks.events, report->options->view))
				put_group(report, REPORT_BY_CALL, "waited_for", NULL, out);
			if (report->is_first_look)
				put_waits(report, out);
			put_group(report, REPORT_BY_WAKER, "woken_by", "tid", out);
			put_thread_times(report, out);
		}
	} else {
		put_tree(report, out);
	}
	put_messages(&report->recorder->messages, out);
	fputs("}\n", out);
}
