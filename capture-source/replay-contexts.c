/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture-source/replay-contexts.h"

enum {
	THREADS_MAX = 1 << 20,
	LINE_SIZE =
		2 * WIRE_NAME_MAX, /* of the longest line, as formats/syscap/notes.c writes it */
};

void replay_contexts_init(struct replay_contexts *contexts, const struct syscap_file *file)
{
	contexts->lines = lines_of(file, SYSCAP_CONTEXTS_FILE);
	pair_map_init(&contexts->of_thread, THREADS_MAX);
}

void replay_contexts_deinit(struct replay_contexts *contexts)
{
	pair_map_deinit(&contexts->of_thread);
}

/* Splits "key<tab>value" in place, and cuts what a record cannot hold; false: it is none. */
static bool split(char *text, size_t value_max, struct wire_string *ret_key,
		  struct wire_string *ret_value)
{
	char *tab = strchr(text, '\t');

	if (!tab || tab == text)
		return false;
	*tab = 0;
	*ret_key = wire_string(text, WIRE_ATTRIBUTE_MAX);
	*ret_value = wire_string(tab + 1, value_max);
	return true;
}

static int take_resource(struct replay_contexts *contexts, struct stage *stage, uint64_t time,
			 char *text)
{
	struct wire_resource_attribute record = { .time = time };
	int32_t pid;
	int at = 0, r;

	if (sscanf(text, "%" SCNd32 " %" SCNu32 " %n", &pid, &record.number, &at) != 2 || !at ||
	    !split(text + at, WIRE_NAME_MAX, &record.key, &record.value))
		return 0;
	r = contexts->find_process(pid, time, &record.process, contexts->arg);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_resource_attribute, &record);
}

/* Hexadecimal digits, and nothing else. */
static bool is_id(const char *text)
{
	return !text[strspn(text, "0123456789abcdef")];
}

static int take_context(struct replay_contexts *contexts, struct stage *stage, uint64_t time,
			const char *text)
{
	struct wire_trace_context record = { 0 };
	char trace[33], span[17];
	int32_t pid;
	int r;

	if (sscanf(text, "%" SCNu64 " %" SCNd32 " %32s %16s %" SCNu32 " %" SCNu32, &record.number,
		   &pid, trace, span, &record.flags, &record.n_attributes) != 6)
		return 0;
	if (is_id(trace))
		strcpy(record.trace_id, trace);
	if (is_id(span))
		strcpy(record.span_id, span);
	r = contexts->find_process(pid, time, &record.process, contexts->arg);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_trace_context, &record);
}

static int take_attribute(struct stage *stage, char *text)
{
	struct wire_trace_attribute record = { 0 };
	int at = 0;

	if (sscanf(text, "%" SCNu64 " %n", &record.trace_context, &at) != 1 || !at ||
	    !split(text + at, WIRE_ATTRIBUTE_MAX, &record.key, &record.value))
		return 0;
	return stage_put(stage, WIRE_RECORD_trace_attribute, &record);
}

static int take_since(struct replay_contexts *contexts, const char *text)
{
	uint64_t number, *known;
	int32_t pid, tid;
	int r;

	if (sscanf(text, "%" SCNd32 " %" SCNd32 " %" SCNu64, &pid, &tid, &number) != 3)
		return 0;
	known = pair_map_find(&contexts->of_thread, pid, tid);
	if (known) {
		*known = number;
		return 0;
	}
	r = pair_map_add(&contexts->of_thread, pid, tid, number);
	return r == -ENOSPC ? 0 : r;
}

static int take(struct replay_contexts *contexts, struct stage *stage, uint64_t time, char kind,
		char *text)
{
	switch (kind) {
	case 'r':
		return take_resource(contexts, stage, time, text);
	case 'c':
		return take_context(contexts, stage, time, text);
	case 'a':
		return take_attribute(stage, text);
	case 's':
		return take_since(contexts, text);
	default:
		return 0;
	}
}

int replay_contexts_emit(struct replay_contexts *contexts, struct stage *stage, uint64_t until)
{
	struct lines behind = contexts->lines;
	char line[LINE_SIZE];
	int r = 0;

	while (r == 0 && lines_next(&behind, line, sizeof(line))) {
		uint64_t time = 0;
		int at = 0;
		char kind = 0;
		bool is_one = sscanf(line, "%" SCNu64 " %c %n", &time, &kind, &at) == 2 && at;

		if (is_one && time > until)
			break;
		contexts->lines = behind;
		if (is_one)
			r = take(contexts, stage, time, kind, line + at);
	}
	return r;
}

uint64_t replay_contexts_of_thread(const struct replay_contexts *contexts, int32_t pid, int32_t tid)
{
	const uint64_t *known = pair_map_find(&contexts->of_thread, pid, tid);

	return known ? *known : 0;
}
