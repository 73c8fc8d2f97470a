/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of the live view: what is shown, and what keys change. */
#pragma once

#include <regex.h>

#include "profile/recorder.h"
#include "stackpipe/top/live-counts.h"
#include "stackpipe/top/top-gauges.h"

enum {
	TOP_ROWS_MAX = 256,
	TOP_PROMPT_MAX = 128,
	TOP_TREE_MAX = 64, /* lines of callers; the same of callees */
};

enum top_view { TOP_FUNCTIONS, TOP_PROCESSES, TOP_CGROUPS, TOP_FUNCTION };

/* Count of a process in the window, or of its whole control group. */
struct top_group {
	uint32_t process;
	uint64_t n;
};

struct top_prompt {
	bool is_open;
	char text[TOP_PROMPT_MAX];
	size_t n;
};

struct top {
	struct recorder recorder;
	struct live_counts counts;
	enum top_view view;
	enum live_order order;
	bool is_frozen;
	double window_s;
	uint32_t rows[TOP_ROWS_MAX]; /* indices of functions */
	struct top_group groups[TOP_ROWS_MAX];
	size_t n_rows, selected;
	uint32_t subject; /* the function shown by TOP_FUNCTION */
	struct top_prompt prompt;
	regex_t symbol;
	bool has_symbol;
	char message[256]; /* answer to the last key */
	uint64_t n_lost;
	struct top_gauges gauges;
	uint64_t drawn_at;		  /* CLOCK_MONOTONIC, ns */
	uint64_t measured_at, n_measured; /* CLOCK_MONOTONIC, ns; samples until then */
	double rate;			  /* samples a second */
	bool is_over;
	const char *target; /* what is recorded (command, PIDs), for the head */
	bool has_screen;
	struct stage *stage;
};

/* Opens a screen on the controlling terminal. 0 or -errno. */
int top_screen_open(struct top *top);

void top_screen_close(struct top *top);

/* Draws the whole screen. */
void top_screen_draw(struct top *top);

/* Returns a pressed key; 0: none. */
int top_screen_key(void);
