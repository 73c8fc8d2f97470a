/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A self-contained HTML page (page/) with the profile as base64 of zlib's format of:
 *
 *   u32 size of the next part, little-endian
 *   a JSON object: what was recorded, "strings", and the number of each of the following
 *   numbers in LEB128: functions (name, module, kind), nodes except node 0 (distance back to
 *     the parent, function), processes (pid, name, cgroup, service), threads (process, tid, name),
 *     contexts (trace, span, number of attributes, key and value of each), samples (microseconds
 *     since the last one, thread, node; with "repeats" its count; its amount in each of "units";
 *     unless "waits" is -1 the reason and the waking thread + 1; with "contexts" its context + 1),
 *     losses (microseconds as above, events), counters (category, name, description, divisor),
 *     counter values (microseconds, counter, value), marks (microseconds, duration, process + 1,
 *     TID, group, name, text); of a heap: intervals (bytes, blocks alive), moments (microseconds,
 *     number of changed stacks, for each its sample, bytes and blocks alive)
 *
 * Names are never markup of the page. page/data.js reads this.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/json.h"
#include "common/base/sum.h"
#include "formats/base64.h"
#include "formats/format.h"
#include "formats/memory-stream.h"
#include "formats/output-stream.h"
#include "formats/page.h"
#include "formats/protobuf.h"
#include "profile/names/used-names.h"
#include "profile/program.h"
#include "profile/tree.h"
#include "profile/wait-reasons.h"

enum { PAGE_FORMAT = 5 }; /* of these numbers; only pages of one format can be compared */

struct html_writer {
	const struct export *export;
	const struct profile *profile;
	struct tree tree;
	struct wait_reasons reasons;
	struct used_names strings;
	struct protobuf numbers;
	struct view views[VIEWS_MAX]; /* in which samples weigh something other than 1 each */
	uint64_t sums[VIEWS_MAX];     /* of what was written */
	uint64_t n_put;		      /* samples */
	size_t n_views;
	size_t n_samples;
	bool is_heap;	     /* samples are stacks, and weigh their amounts */
	uint32_t *sample_of; /* by stack of a heap: its sample, from 1 on; 0: none */
};

static void put_number(struct html_writer *self, uint64_t number)
{
	protobuf_add_uint(&self->numbers, number);
}

static void put_name(struct html_writer *self, uint32_t name)
{
	put_number(self, used_names_index(&self->strings, name));
}

static void put_tree(struct html_writer *self)
{
	const struct tree *tree = &self->tree;

	for (size_t i = 0; i < tree->n_functions; i++) {
		const struct tree_function *function = &tree->functions[i];

		put_name(self, function->name);
		put_name(self, self->profile->modules[function->module].path);
		put_number(self, function->kind);
	}
	for (size_t i = 1; i < tree->n_nodes; i++) {
		put_number(self, i - tree->nodes[i].parent);
		put_number(self, tree->nodes[i].function);
	}
}

static void put_threads(struct html_writer *self)
{
	const struct profile *profile = self->profile;

	for (size_t i = 0; i < profile->n_processes; i++) {
		put_number(self, profile->processes[i].pid);
		put_name(self, profile->processes[i].name);
		put_name(self, profile->processes[i].cgroup);
		put_name(self,
			 profile_attribute_find(&profile->contexts, profile->processes[i].resource,
						"service.name"));
	}
	for (size_t i = 0; i < profile->n_threads; i++) {
		put_number(self, profile->threads[i].process);
		put_number(self, profile->threads[i].tid);
		put_name(self, profile->threads[i].name);
	}
}

static void put_text(struct html_writer *self, const char *text)
{
	put_number(self, used_names_index_of_text(&self->strings, text));
}

/* Samples refer to contexts by their order here, from 1 on. */
static void put_contexts(struct html_writer *self)
{
	const struct profile_contexts *contexts = &self->profile->contexts;

	for (size_t i = 0; i < contexts->n; i++) {
		const struct profile_attributes *attributes = &contexts->list[i].attributes;

		put_text(self, contexts->list[i].trace_id);
		put_text(self, contexts->list[i].span_id);
		put_number(self, attributes->n);
		for (uint32_t k = attributes->first; k < attributes->first + attributes->n; k++) {
			put_name(self, contexts->attributes[k].key);
			put_name(self, contexts->attributes[k].value);
		}
	}
}

/* Writes the time since `last`, and sets it. */
static void put_time(struct html_writer *self, uint64_t *last, uint64_t time)
{
	uint64_t now = time > *last ? time : *last;

	put_number(self, now / NANOSECONDS_A_MICROSECOND - *last / NANOSECONDS_A_MICROSECOND);
	*last = now;
}

static bool are_weighted(const struct profile *profile)
{
	const struct profile_sample *samples = profile->samples;

	for (size_t i = 1; i < profile->n_samples; i++)
		if (samples[i].weight / samples[i].n != samples[0].weight / samples[0].n)
			return true;
	return false;
}

/* The units of a heap. */
static const struct {
	const char *text;
	enum heap_metric metric;
	enum heap_unit unit;
} heap_units[] = {
	{ "bytes alive at the peak", HEAP_AT_PEAK, HEAP_BYTES },
	{ "bytes never freed", HEAP_LEAKED, HEAP_BYTES },
	{ "bytes allocated", HEAP_ALLOCATED, HEAP_BYTES },
	{ "blocks allocated", HEAP_ALLOCATED, HEAP_BLOCKS },
	{ "blocks freed at once", HEAP_TEMPORARY, HEAP_BLOCKS },
	{ "blocks freed by another thread", HEAP_FOREIGN, HEAP_BLOCKS },
};

enum { N_HEAP_UNITS = sizeof(heap_units) / sizeof(*heap_units) };

/* Writes the stacks of a heap as samples without a time. */
static int put_heap_stacks(struct html_writer *self)
{
	const struct heap *heap = self->export->heap;
	uint32_t n = 0;

	self->sample_of = calloc(heap->n_stacks + 1, sizeof(*self->sample_of));
	if (!self->sample_of)
		return -ENOMEM;
	for (size_t i = 0; i < heap->n_stacks; i++) {
		const struct heap_stack *stack = &heap->stacks[i];

		if (!stack->node)
			continue;
		put_number(self, 0);
		put_number(self, stack->thread);
		put_number(self, self->tree.node_of[stack->node]);
		for (int k = 0; k < N_HEAP_UNITS; k++)
			put_number(self,
				   heap_amount_in(heap_stack_amount(stack, heap_units[k].metric),
						  heap_units[k].unit));
		self->sample_of[i] = ++n;
	}
	self->n_samples = n;
	return 0;
}

static void put_timeline(struct html_writer *self)
{
	const struct timeline *timeline = &self->export->heap->timeline;

	for (uint32_t i = 0; i < timeline->n; i++) {
		put_number(self, timeline->intervals[i].most_bytes);
		put_number(self, timeline->intervals[i].last_blocks);
	}
}

/* Writes the changes from `first` up to `end`; a moment may have none. */
static void put_moment(struct html_writer *self, size_t first, size_t end)
{
	const struct history_change *changes = self->export->heap->history.changes;
	size_t n_shown = 0;

	/* Stacks that are not samples were beyond the limits of the profile. */
	for (size_t i = first; i < end; i++)
		n_shown += self->sample_of[changes[i].stack] != 0;
	put_number(self, n_shown);
	for (size_t i = first; i < end; i++) {
		const struct heap_amount amount = { changes[i].n, changes[i].bytes };

		if (!self->sample_of[changes[i].stack])
			continue;
		put_number(self, self->sample_of[changes[i].stack] - 1);
		put_number(self, heap_amount_in(amount, HEAP_BYTES));
		put_number(self, heap_amount_in(amount, HEAP_BLOCKS));
	}
}

static void put_moments(struct html_writer *self)
{
	const struct history *history = &self->export->heap->history;
	uint64_t last = self->export->heap->timeline.start;
	size_t first = 0, end;

	for (uint32_t i = 0; i < history->n_moments; i++, first = end) {
		for (end = first; end < history->n_changes && history->changes[end].moment == i;)
			end++;
		put_time(self, &last, history->times[i]);
		put_moment(self, first, end);
	}
}

/* The index of the unit that is waits; -1: none. */
static int find_waits(const struct html_writer *self)
{
	for (size_t i = 0; i < self->n_views; i++)
		if (view_is_waits(&self->profile->stacks->events, self->views[i]))
			return i;
	return -1;
}

static void put_wait(struct html_writer *self, const struct profile_sample *sample)
{
	put_name(self, wait_reason(&self->reasons, sample));
	put_number(self, sample->waker);
}

static void put_amounts(struct html_writer *self, const struct profile_sample *sample)
{
	for (size_t i = 0; i < self->n_views; i++) {
		uint64_t n = profile_amount(self->profile, self->views[i], sample);

		put_number(self, n);
		sum_add(&self->sums[i], n);
	}
}

static int check_sums(const struct html_writer *self)
{
	const struct profile *profile = self->profile;
	int r = self->n_put == profile->n_taken ? 0 : -ENOTRECOVERABLE;

	for (size_t i = 0; i < self->n_views && r == 0; i++)
		r = profile_check_sum(profile, self->views[i], self->sums[i]);
	return r;
}

static void put_samples(struct html_writer *self)
{
	const struct profile *profile = self->profile;
	uint64_t last = self->profile->stacks->hello.start_time;
	bool have_waits = find_waits(self) >= 0;

	for (size_t i = 0; i < profile->n_samples; i++) {
		put_time(self, &last, profile->samples[i].time);
		put_number(self, profile->samples[i].thread);
		put_number(self, self->tree.node_of[profile->samples[i].node]);
		if (profile->has_repeats)
			put_number(self, profile->samples[i].n);
		sum_add(&self->n_put, profile->samples[i].n);
		put_amounts(self, &profile->samples[i]);
		if (have_waits)
			put_wait(self, &profile->samples[i]);
		if (profile->contexts.n)
			put_number(self, profile->samples[i].context);
	}
}

static void put_losses(struct html_writer *self)
{
	const struct profile *profile = self->profile;
	uint64_t last = self->profile->stacks->hello.start_time;

	for (size_t i = 0; i < profile->n_losses; i++) {
		put_time(self, &last, profile->losses[i].time);
		put_number(self, profile->losses[i].n);
	}
}

/* In order of time. */
static void put_counter_values(struct html_writer *self)
{
	const struct profile *profile = self->profile;
	uint64_t last = self->profile->stacks->hello.start_time;

	for (size_t i = 0; i < profile->n_counter_values; i++) {
		const struct profile_counter_value *value = &profile->counter_values[i];

		put_time(self, &last, value->time);
		put_number(self, value->counter - 1);
		put_number(self, value->value);
	}
}

static void put_marks(struct html_writer *self)
{
	uint64_t last = self->profile->stacks->hello.start_time;

	for (size_t i = 0; i < self->profile->n_marks; i++) {
		const struct profile_mark *mark = &self->profile->marks[i];

		put_time(self, &last, mark->time);
		put_number(self, mark->duration / NANOSECONDS_A_MICROSECOND);
		put_number(self, mark->process);
		put_number(self, mark->tid);
		put_name(self, mark->group);
		put_name(self, mark->name);
		put_name(self, mark->text);
	}
}

static void put_counters(struct html_writer *self)
{
	for (size_t i = 1; i < self->profile->n_counters; i++) {
		const struct profile_counter *counter = &self->profile->counters[i];

		put_name(self, counter->category);
		put_name(self, counter->name);
		put_name(self, counter->description);
		put_number(self, counter->divisor);
	}
}

static void put_strings(struct html_writer *self, struct json *json)
{
	fputs(", \"strings\": [\"\"", json->out);
	for (size_t i = 1; i < self->strings.n; i++) {
		putc(',', json->out);
		json_put_text(json->out, used_names_text(&self->strings, i));
	}
	fputs("]", json->out);
}

static void put_ends(const struct stacks *stacks, struct json *json)
{
	json_begin(json, "ends");
	for (uint32_t i = 0; i < STACKS_ENDS; i++) {
		const char *name = stacks_end_name(i);

		if (stacks->n_ends[i])
			json_number(json, name, stacks->n_ends[i]);
	}
	json_end(json);
	json_begin(json, "end_texts");
	for (size_t i = 0; i < wire_names_stack_end.n; i++) {
		const struct wire_name *name = &wire_names_stack_end.names[i];

		if (name->number < STACKS_ENDS && stacks->n_ends[name->number])
			json_text(json, name->text, name->doc);
	}
	json_end(json);
}

/* The name of the page. */
static void put_program(const struct html_writer *self, struct json *json)
{
	uint32_t name = profile_program_name(self->profile);

	if (name)
		json_text(json, "program", profile_text(self->profile, name));
}

/* Writes the units of samples; for a heap also its timeline, and what limits trust in it. */
static void put_units(const struct html_writer *self, struct json *json)
{
	const struct heap *heap = self->export->heap;
	const struct events *events = &self->profile->stacks->events;
	char forgers[HEAP_FORGERS_TEXT];

	fputs(", \"units\": [", json->out);
	for (size_t i = 0; i < self->n_views; i++) {
		fputs(i ? "," : "", json->out);
		json_put_text(json->out, view_name(events, self->views[i]));
	}
	for (int i = 0; self->is_heap && i < N_HEAP_UNITS; i++) {
		fputs(i ? "," : "", json->out);
		json_put_text(json->out, heap_units[i].text);
	}
	fputs("], \"times\": [", json->out); /* which units are nanoseconds */
	for (size_t i = 0; i < self->n_views; i++)
		fprintf(json->out, i ? ",%d" : "%d", view_is_time(events, self->views[i]));
	fputs("]", json->out);
	fprintf(json->out, ", \"waits\": %d", find_waits(self));
	json_number(json, "several", events->n > 1); /* samples alone are no unit then */
	json_number(json, "heap", self->is_heap);
	if (!self->is_heap)
		return;
	json_number(json, "heap_sampled", heap->is_sampled);
	json_number(json, "heap_lost", heap_losses_n(&heap->losses));
	json_text(json, "heap_forged", heap_forgers_text(heap, forgers));
	json_number(json, "heap_events", heap->n_events);
	json_number(json, "timeline", heap->timeline.n);
	json_number(json, "interval_ns", heap->timeline.length);
	json_number(json, "moments", heap->history.n_moments);
}

/* Writes the JSON object. The strings are complete by now. */
static void put_header(struct html_writer *self, FILE *out)
{
	const struct stacks *stacks = self->profile->stacks;
	const struct wire_hello *hello = &stacks->hello;
	const struct profile *profile = self->profile;
	struct json json = { .out = out };

	json_begin(&json, NULL);
	json_text(&json, "version", STACKPIPE_VERSION);
	json_number(&json, "format", PAGE_FORMAT);
	json_text(&json, "host", hello->host);
	json_text(&json, "event", hello->event);
	json_number(&json, "rate", hello->rate);
	json_number(&json, "start_ms", hello->start_unix_time / 1000000);
	json_number(&json, "duration_us",
		    (stacks->last_time - hello->start_time) / NANOSECONDS_A_MICROSECOND);
	json_number(&json, "lost", stacks->n_lost);
	json_number(&json, "left_out", stacks->n_skipped);
	json_number(&json, "incomplete", !self->export->is_whole);
	put_ends(stacks, &json);
	put_program(self, &json);
	json_number(&json, "functions", self->tree.n_functions);
	json_number(&json, "nodes", self->tree.n_nodes);
	json_number(&json, "processes", profile->n_processes);
	json_number(&json, "threads", profile->n_threads);
	json_number(&json, "contexts", self->is_heap ? 0 : profile->contexts.n);
	json_number(&json, "samples", self->n_samples);
	json_number(&json, "repeats", !self->is_heap && profile->has_repeats);
	put_units(self, &json);
	json_number(&json, "losses", profile->n_losses);
	json_number(&json, "counters", profile->n_counters ? profile->n_counters - 1 : 0);
	json_number(&json, "counter_values", profile->n_counter_values);
	json_number(&json, "marks", profile->n_marks);
	put_strings(self, &json);
	json_end(&json);
}

/* Puts the header in front of the numbers. The caller frees the result. 0 or -ENOMEM. */
static int join(struct html_writer *self, char **ret, size_t *ret_size)
{
	FILE *out = open_memstream(ret, ret_size);
	uint32_t size = 0;

	if (!out)
		return -ENOMEM;
	fwrite(&size, 1, sizeof(size), out);
	put_header(self, out);
	if (fflush(out) == 0)
		size = *ret_size - sizeof(size);
	fwrite(self->numbers.data, 1, self->numbers.size, out);
	if (memory_stream_close(out, ret) < 0)
		return -ENOMEM;
	size = htole32(size);
	memcpy(*ret, &size, sizeof(size));
	return 0;
}

/* With a single event and equal weights, samples need no unit. */
static void choose_views(struct html_writer *self)
{
	const struct events *events = &self->profile->stacks->events;

	if (self->is_heap)
		return;
	if (events->n > 1)
		self->n_views = events_views(events, self->views);
	else if (are_weighted(self->profile))
		self->views[self->n_views++] = (struct view){ VIEW_WEIGHTS, 0 };
}

/* The whole profile, compressed. The caller frees it. 0, -ENOMEM or -ENOTRECOVERABLE. */
static int pack(struct html_writer *self, char **ret, size_t *ret_size)
{
	_cleanup_free_ char *plain = NULL;
	size_t size;
	uLongf bound;
	int r;

	self->is_heap = export_is_heap(self->export);
	choose_views(self);
	self->n_samples = self->profile->n_samples;
	put_tree(self);
	put_threads(self);
	if (self->is_heap) {
		r = put_heap_stacks(self);
		if (r < 0)
			return r;
	} else {
		put_contexts(self);
		put_samples(self);
	}
	put_losses(self);
	put_counters(self);
	put_counter_values(self);
	put_marks(self);
	if (self->is_heap) {
		put_timeline(self);
		put_moments(self);
	}
	if (self->numbers.has_failed || self->strings.has_failed)
		return -ENOMEM;
	if (!self->is_heap && check_sums(self) < 0)
		return -ENOTRECOVERABLE;
	r = join(self, &plain, &size);
	if (r < 0)
		return r;
	bound = compressBound(size);
	*ret = malloc(bound);
	if (!*ret || compress2((Bytef *)*ret, &bound, (Bytef *)plain, size, Z_DEFAULT_COMPRESSION))
		return -ENOMEM;
	*ret_size = bound;
	return 0;
}

static int write_page(const struct export *export, const char *data, size_t size)
{
	FILE *out = output_stream_open(export->output, OUTPUT_PLAIN);

	if (!out)
		return -ENOMEM;
	fwrite(page_before_data, 1, page_before_data_size, out);
	base64_put(out, data, size);
	if (export->base) {
		fputs("</script>\n<script type=\"application/octet-stream\" id=\"base-data\">\n",
		      out);
		fwrite(export->base, 1, export->base_size, out);
	}
	fwrite(page_behind_data, 1, page_behind_data_size, out);
	return output_stream_close(out);
}

static int write_file(const struct export *export)
{
	struct html_writer self = { .export = export, .profile = export->profile };
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r = used_names_init(&self.strings, &export->profile->stacks->names);
	if (r == 0)
		r = wait_reasons_init(&self.reasons, export->profile);
	if (r == 0)
		r = tree_init(&self.tree, self.profile, TREE_OF_FUNCTIONS);
	if (r == 0)
		r = pack(&self, &data, &size);
	if (r == 0)
		r = write_page(export, data, size);
	tree_deinit(&self.tree);
	wait_reasons_deinit(&self.reasons);
	used_names_deinit(&self.strings);
	protobuf_deinit(&self.numbers);
	free(self.sample_of);
	return r;
}

const struct format format_html = {
	.lacks = "source lines and the CPU of each sample",
	.keeps_history = true,
	.hides_interpreters = true,
	.wants = RECORDER_LOSSES | RECORDER_MARKS | RECORDER_COUNTERS | RECORDER_CONTEXTS,
	.write = write_file,
};
