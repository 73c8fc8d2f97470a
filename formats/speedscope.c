/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speedscope's own format (its src/lib/file-format-spec.ts): a "sampled" profile for each thread,
 * in order of time. Inlined calls are normal frames. A frame's "file" is its binary, so there is
 * one frame per function, not per line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/json.h"
#include "common/base/sum.h"
#include "formats/format.h"
#include "formats/output-stream.h"
#include "profile/threads.h"
#include "profile/tree.h"

static void put_frames(FILE *out, const struct tree *tree)
{
	const struct profile *profile = tree->profile;

	fputs("\"shared\":{\"frames\":[", out);
	for (size_t i = 0; i < tree->n_functions; i++) {
		const struct tree_function *function = &tree->functions[i];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		json_put_text(out, profile_text(profile, function->name));
		if (function->module) {
			fputs(",\"file\":", out);
			json_put_text(out, profile_text(profile,
							profile->modules[function->module].path));
		}
		putc('}', out);
	}
	fputs("]},\n", out);
}

/* Writes the functions of a stack, the outermost first. */
static void put_stack(FILE *out, const struct tree *tree, uint32_t node, uint32_t *path)
{
	size_t n = 0;

	for (; node; node = tree->nodes[node].parent)
		path[n++] = tree->nodes[node].function;
	putc_unlocked('[', out);
	while (n--)
		fprintf(out, n ? "%" PRIu32 "," : "%" PRIu32, path[n]);
	putc_unlocked(']', out);
}

/* Returns the sum of its samples in the view. */
static uint64_t put_thread(FILE *out, const struct tree *tree,
			   const struct profile_thread_samples *samples, struct view view,
			   uint32_t *path)
{
	const struct profile *profile = tree->profile;
	const struct profile_thread *thread = &profile->threads[samples->thread];
	const struct profile_process *process = &profile->processes[thread->process];
	const struct events *events = &profile->stacks->events;
	uint64_t whole = 0;
	char name[256];

	for (size_t i = 0; i < samples->n; i++)
		sum_add(&whole, profile_amount(profile, view, &profile->samples[samples->list[i]]));
	snprintf(name, sizeof(name), "%s %" PRIu32 " / %s %" PRIu32 "%s%s",
		 profile_text(profile, process->name), process->pid,
		 profile_text(profile, thread->name), thread->tid, events->n > 1 ? " / " : "",
		 events->n > 1 ? view_name(events, view) : "");
	fputs("{\"type\":\"sampled\",\"name\":", out);
	json_put_text(out, name);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
		view_is_time(events, view) ? "nanoseconds" : "none", whole);
	for (size_t i = 0; i < samples->n; i++) {
		if (i)
			putc_unlocked(',', out);
		put_stack(out, tree, tree->node_of[profile->samples[samples->list[i]].node], path);
	}
	fputs("],\"weights\":[", out);
	for (size_t i = 0; i < samples->n; i++)
		fprintf(out, i ? ",%" PRIu64 : "%" PRIu64,
			profile_amount(profile, view, &profile->samples[samples->list[i]]));
	fputs("]}", out);
	return whole;
}

static int put_threads(FILE *out, const struct tree *tree, struct view view, uint32_t *path,
		       size_t *n_put)
{
	_cleanup_(profile_threads_deinit) struct profile_threads threads = { 0 };
	int r = profile_threads_init(&threads, tree->profile, view);
	uint64_t sum = 0;

	for (size_t i = 0; i < threads.n && r == 0 && threads.list[i].n; i++) {
		fputs((*n_put)++ ? ",\n" : "\n", out);
		sum_add(&sum, put_thread(out, tree, &threads.list[i], view, path));
	}
	return r < 0 ? r : profile_check_sum(tree->profile, view, sum);
}

/* Writes each thread in each view; with a single event, in one view. */
static int put_profiles(FILE *out, const struct tree *tree)
{
	const struct events *events = &tree->profile->stacks->events;
	_cleanup_free_ uint32_t *path = calloc(tree->n_nodes, sizeof(*path));
	struct view views[VIEWS_MAX];
	size_t n_views = events_views(events, views), n_put = 0;
	int r = path ? 0 : -ENOMEM;

	fputs("\"profiles\":[", out);
	for (size_t i = 0; i < n_views && r == 0; i++) {
		/* For a clock, time replaces the number of samples. */
		bool is_emitted = views[i].kind == VIEW_SAMPLES ? !event_is_time(&events->list[0])
				  : events->n == 1		? event_is_time(&events->list[0])
								: true;

		if (is_emitted)
			r = put_threads(out, tree, views[i], path, &n_put);
	}
	fputs("]}\n", out);
	return r;
}

static int put_all(const struct export *export, const struct tree *tree)
{
	FILE *out = output_stream_open(export->output, OUTPUT_PLAIN);
	char remark[512], name[1024] = "";
	size_t used = 0;
	int r, closed;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0;
	     export_remark(export, i, remark, sizeof(remark)) && used < sizeof(name); i++)
		used += snprintf(name + used, sizeof(name) - used, i ? ", %s" : "%s", remark);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"stackpipe " STACKPIPE_VERSION "\",\"activeProfileIndex\":0,\"name\":",
	      out);
	json_put_text(out, name);
	fputs(",\n", out);
	put_frames(out, tree);
	r = put_profiles(out, tree);
	closed = output_stream_close(out);
	return r < 0 ? r : closed;
}

static int write_file(const struct export *export)
{
	struct tree tree = { 0 };
	int r = tree_init(&tree, export->profile, TREE_OF_FUNCTIONS);
	if (r == 0)
		r = put_all(export, &tree);
	tree_deinit(&tree);
	return r;
}

const struct format format_speedscope = {
	.lacks = "source lines and idle time between a thread's samples",
	.wants = RECORDER_LOSSES,
	.write = write_file,
};
