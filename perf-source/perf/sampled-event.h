/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event as a user names it and as perf_event_open(2) takes it: a counter of the hardware or the
 * kernel, sampled at a rate or each so many times; or a tracepoint or a place in a program (a
 * uprobe), of which each occurrence is a sample unless the user wants fewer.
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
	uint64_t count; /* occurrences for one sample; 0: it is sampled at a rate */

	/* Of a uprobe, until sampled_event_define() makes it a tracepoint. */
	int file_fd; /* owned; -1: no uprobe, or already a tracepoint */
	uint64_t file_offset;
	bool is_defined;

	const char *filter;    /* borrowed; NULL: all samples are wanted */
	int filter_program_fd; /* of a counter (sample-program.h); borrowed, -1: none */
};

/* Whether the event takes the kernel's own filter of tracepoints. */
static inline bool sampled_event_is_tracepoint(const struct sampled_event *event)
{
	return event->type == PERF_TYPE_TRACEPOINT;
}

/* Whether a text names a uprobe; such a text may contain commas and colons. */
bool sampled_event_is_uprobe(const char *text);

/*
 * Finds the event named `text`: a counter, a tracepoint "GROUP:NAME", or "uprobe:FILE:SYMBOL", of
 * which `name` keeps only the last component of FILE. 0 or -errno: -ENOENT: no such event, or
 * tracefs is not mounted; -EACCES: no access to tracefs or the file; errors of uprobe_place_find().
 */
int sampled_event_find(const char *text, struct sampled_event *ret);

/* Replaces the event by a counter, with the same filter. */
void sampled_event_replace(struct sampled_event *event, const char *counter);

/* Makes a tracepoint of a uprobe, before it is opened. 0 or the error of uprobe_define(). */
int sampled_event_define(struct sampled_event *event, uint32_t number);

/* To be called when all events are closed. */
void sampled_event_undefine(struct sampled_event *event, uint32_t number);

/* Whether the weight of its samples is in nanoseconds. */
bool sampled_event_is_clock(const struct sampled_event *event);
