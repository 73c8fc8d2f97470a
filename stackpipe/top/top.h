/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The live view: what is shown, and what keys change of it. */
#pragma once

#include <regex.h>

#include "stackpipe/top/top-gauges.h"
#include "profile/recorder.h"
#include "stackpipe/top/live-counts.h"

enum {
	TOP_ROWS_MAX = 256,
	TOP_PROMPT_MAX = 128,
	TOP_TREE_MAX = 64, /* lines of callers, and of callees */
};

enum top_view { TOP_FUNCTIONS, TOP_PROCESSES, TOP_CGROUPS, TOP_FUNCTION };

/* What a process, or all of its control group, has in the window. */
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
	uint32_t rows[TOP_ROWS_MAX]; /* functions */
	struct top_group groups[TOP_ROWS_MAX];
	size_t n_rows, selected;
	uint32_t subject; /* the function that was zoomed into */
	struct top_prompt prompt;
	regex_t symbol;
	bool has_symbol;
	char message[256]; /* of the last key */
	uint64_t n_lost;
	struct top_gauges gauges;
	uint64_t drawn_at;		  /* of CLOCK_MONOTONIC */
	uint64_t measured_at, n_measured; /* the same; samples at that time */
	double rate;			  /* samples a second */
	bool is_over;
	const char *target; /* what is recorded, for the head */
	bool has_screen;
	struct stage *stage;
};

/* The screen of the terminal that we were started on. 0 or -errno. */
int top_screen_open(struct top *top);

void top_screen_close(struct top *top);

/* Draws all of it. */
void top_screen_draw(struct top *top);

/* A key that was pressed; 0: none. */
int top_screen_key(void);
