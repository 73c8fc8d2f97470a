/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event as a person names it, and as perf_event_open(2) does: a counter of the hardware or of
 * the kernel, sampled at a rate; a tracepoint, or a place in a program (a uprobe), of which each
 * time is a sample.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	SAMPLED_EVENTS_MAX = 16, /* in one recording */
	SAMPLED_EVENT_NAME_SIZE = 65,
};

struct sampled_event {
	char name[SAMPLED_EVENT_NAME_SIZE];
	uint32_t type; /* struct perf_event_attr */
	uint64_t config;
	bool is_each_time; /* else at a rate */

	/* Of a uprobe, until it is a tracepoint. */
	int file_fd; /* owned; -1: it is none, or is one already */
	uint64_t file_offset;
	bool is_defined;

	const char *filter;    /* borrowed; NULL: all samples are wanted */
	int filter_program_fd; /* of a counter's filter (sample-filter.h); borrowed, -1: none */
};

/* Whether its filter is the kernel's own, of tracepoints. */
static inline bool sampled_event_is_tracepoint(const struct sampled_event *event)
{
	return event->type == PERF_TYPE_TRACEPOINT;
}

/* Whether a text is that of a uprobe, which may have commas and colons in it. */
bool sampled_event_is_uprobe(const char *text);

/*
 * The event of that name: that of a counter, "GROUP:NAME" of a tracepoint, or
 * "uprobe:FILE:SYMBOL", whose `name` says no more of FILE than its last part. 0 or -errno:
 * -ENOENT: there is none, or tracefs is not mounted; -EACCES: tracefs, or the file, is not for us;
 * of a uprobe also what uprobe_place_find() says.
 */
int sampled_event_find(const char *text, struct sampled_event *ret);

/* Another counter in its place, with the same filter. */
void sampled_event_replace(struct sampled_event *event, const char *counter);

/* Makes a tracepoint of a uprobe before it is opened: 0, or what uprobe_define() says. */
int sampled_event_define(struct sampled_event *event, uint32_t number);

/* When all events are closed. */
void sampled_event_undefine(struct sampled_event *event, uint32_t number);

/* Whether its samples weigh nanoseconds. */
bool sampled_event_is_clock(const struct sampled_event *event);
