/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/perf-counter.h"
#include "perf-source/perf/sampled-event.h"
#include "perf-source/perf/tracepoint.h"
#include "perf-source/perf/uprobe-place.h"
#include "perf-source/perf/uprobe.h"

#define UPROBE_PREFIX "uprobe:"

bool sampled_event_is_clock(const struct sampled_event *event)
{
	return perf_counter_is_clock(event->type, event->config);
}

/* "GROUP:NAME" */
static int find_tracepoint(const char *text, struct sampled_event *ret)
{
	size_t size = strcspn(text, ":");
	char group[SAMPLED_EVENT_NAME_SIZE];
	uint32_t id;
	int r;

	if (!text[size] || size >= sizeof(group))
		return -ENOENT;
	memcpy(group, text, size);
	group[size] = 0;
	r = tracepoint_find(group, text + size + 1, &id);
	if (r < 0)
		return r;
	ret->type = PERF_TYPE_TRACEPOINT;
	ret->config = id;
	ret->count = 1;
	return 0;
}

/* Keeps only the file's last component, as a name has no room for a long path. */
static void name_uprobe(const char *place, char *ret)
{
	const char *symbol = strrchr(place, ':');
	const char *file = memrchr(place, '/', symbol - place);

	snprintf(ret, SAMPLED_EVENT_NAME_SIZE, UPROBE_PREFIX "%s", file ? file + 1 : place);
}

static int find_uprobe(const char *place, struct sampled_event *ret)
{
	int r = uprobe_place_find(place, &ret->file_fd, &ret->file_offset);

	if (r < 0)
		return r;
	name_uprobe(place, ret->name);
	ret->type = PERF_TYPE_TRACEPOINT;
	ret->count = 1;
	return 0;
}

bool sampled_event_is_uprobe(const char *text)
{
	return !strncmp(text, UPROBE_PREFIX, strlen(UPROBE_PREFIX));
}

int sampled_event_find(const char *text, struct sampled_event *ret)
{
	const struct perf_counter *counter = perf_counter_find(text);

	*ret = (struct sampled_event){ .file_fd = -1, .filter_program_fd = -1 };
	if (sampled_event_is_uprobe(text))
		return find_uprobe(text + strlen(UPROBE_PREFIX), ret);
	if (strlen(text) >= sizeof(ret->name))
		return -ENOENT;
	strcpy(ret->name, text);
	if (!counter)
		return find_tracepoint(text, ret);
	ret->type = counter->type;
	ret->config = counter->config;
	return 0;
}

void sampled_event_replace(struct sampled_event *event, const char *counter)
{
	const struct sampled_event before = *event;

	sampled_event_find(counter, event);
	event->count = before.count;
	event->filter = before.filter;
	event->filter_program_fd = before.filter_program_fd;
}

int sampled_event_define(struct sampled_event *event, uint32_t number)
{
	uint32_t tracepoint;
	int r;

	if (event->file_fd < 0)
		return 0;
	r = uprobe_define(number, event->file_fd, event->file_offset, &tracepoint);
	close(event->file_fd);
	event->file_fd = -1;
	if (r == 0)
		event->config = tracepoint;
	event->is_defined = r == 0;
	return r;
}

void sampled_event_undefine(struct sampled_event *event, uint32_t number)
{
	if (event->is_defined)
		uprobe_undefine(number);
	event->is_defined = false;
}
