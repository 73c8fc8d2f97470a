/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speedscope's own format (its src/lib/file-format-spec.ts): for each thread a "sampled" profile in
 * the order of time. Inlined calls are frames like others there, and a frame's "file" is the binary
 * that it is in: there is one for a function, not for each of its lines.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "capture-sink/output-stream.h"
#include "capture-sink/whole-profile.h"
#include "common/cleanup.h"
#include "common/json.h"
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

/* The functions of a stack, the outermost first. */
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

/* What a sample weighs in a thread's profile. */
static uint64_t weigh(const struct profile_sample *sample, bool is_clock)
{
	return is_clock ? sample->weight : 1;
}

static void put_thread(FILE *out, const struct tree *tree,
		       const struct profile_thread_samples *samples, bool is_clock, uint32_t *path)
{
	const struct profile *profile = tree->profile;
	const struct profile_thread *thread = &profile->threads[samples->thread];
	const struct profile_process *process = &profile->processes[thread->process];
	uint64_t whole = 0;
	char name[256];

	for (size_t i = 0; i < samples->n; i++)
		whole += weigh(&profile->samples[samples->list[i]], is_clock);
	snprintf(name, sizeof(name), "%s %" PRIu32 " / %s %" PRIu32,
		 profile_text(profile, process->name), process->pid,
		 profile_text(profile, thread->name), thread->tid);
	fputs("{\"type\":\"sampled\",\"name\":", out);
	json_put_text(out, name);
	fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
		is_clock ? "nanoseconds" : "none", whole);
	for (size_t i = 0; i < samples->n; i++) {
		if (i)
			putc_unlocked(',', out);
		put_stack(out, tree, tree->node_of[profile->samples[samples->list[i]].node], path);
	}
	fputs("],\"weights\":[", out);
	for (size_t i = 0; i < samples->n; i++)
		fprintf(out, i ? ",%" PRIu64 : "%" PRIu64,
			weigh(&profile->samples[samples->list[i]], is_clock));
	fputs("]}", out);
}

static int put_profiles(struct capture *capture, FILE *out, const struct tree *tree)
{
	_cleanup_(profile_threads_deinit) struct profile_threads threads = { 0 };
	_cleanup_free_ uint32_t *path = calloc(tree->n_nodes, sizeof(*path));
	int r = path ? profile_threads_init(&threads, tree->profile) : -ENOMEM;

	fputs("\"profiles\":[", out);
	for (size_t i = 0; i < threads.n && r == 0; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_thread(out, tree, &threads.list[i], whole_profile_is_clock(capture), path);
	}
	fputs("]}\n", out);
	return r;
}

static int put_all(struct capture *capture, const struct tree *tree, enum stage_stream_end end)
{
	FILE *out = output_stream_open(&capture->output, OUTPUT_PLAIN);
	char remark[512], name[1024] = "";
	size_t used = 0;
	int r, closed;

	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0;
	     whole_profile_remark(capture, end, i, remark, sizeof(remark)) && used < sizeof(name);
	     i++)
		used += snprintf(name + used, sizeof(name) - used, i ? ", %s" : "%s", remark);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"stackpipe " STACKPIPE_VERSION "\",\"activeProfileIndex\":0,\"name\":",
	      out);
	json_put_text(out, name);
	fputs(",\n", out);
	put_frames(out, tree);
	r = put_profiles(capture, out, tree);
	closed = output_stream_close(out);
	return r < 0 ? r : closed;
}

static int end_file(struct capture *capture, enum stage_stream_end end)
{
	struct tree tree = { 0 };
	int r = whole_profile_settle(capture);

	if (r == 0)
		r = tree_init(&tree, whole_profile_get(capture));
	if (r == 0)
		r = put_all(capture, &tree, end);
	tree_deinit(&tree);
	return r;
}

const struct format format_speedscope = {
	.name = "speedscope.json",
	.lacks = "idle time between a thread's samples, and source lines",
	WHOLE_PROFILE_CALLBACKS,
	.end = end_file,
};
