/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws the live view with ncurses on /dev/tty; standard input is the stream. */
#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "stackpipe/top/top-tree.h"
#include "stackpipe/top/top.h"

enum { HEAD_LINES = 4, FOOT_LINES = 1 };

static FILE *terminal; /* curses has one screen per process */
static SCREEN *screen;

int top_screen_open(struct top *top)
{
	setlocale(LC_ALL, "");
	terminal = fopen("/dev/tty", "r+e");
	if (!terminal)
		return -errno;
	screen = newterm(NULL, terminal, terminal);
	if (!screen) {
		fclose(terminal);
		return -ENOTTY;
	}
	top->has_screen = true;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	if (!getenv("NO_COLOR") && has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_CYAN, -1);
	}
	return 0;
}

void top_screen_close(struct top *top)
{
	if (!top->has_screen)
		return;
	top->has_screen = false;
	endwin();
	delscreen(screen);
	fclose(terminal);
}

int top_screen_key(void)
{
	int key = getch();

	return key == ERR ? 0 : key;
}

/* Prints the text if it fits into the line, else " …" in its place. */
static bool put_if_it_fits(const char *between, const char *text)
{
	int room = COLS - getcurx(stdscr) - 2; /* 2: columns reserved for " …" */

	if ((int)(mbstowcs(NULL, between, 0) + mbstowcs(NULL, text, 0)) > room) {
		addstr(" …");
		return false;
	}
	printw("%s%s", between, text);
	return true;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

/* Draws the window's sum in the current view. */
static void draw_sum(const struct top *top)
{
	const struct events *events = &top->recorder.stacks.events;
	struct view view = top->counts.view;

	printw("last %.0f s: ", top->window_s);
	if (view_is_time(events, view))
		printw("%.1f ms ", top->counts.n / 1e6);
	else
		printw("%" PRIu64 " ", top->counts.n);
	if (events->n > 1)
		attron(A_BOLD);
	printw("%s", view_name(events, view));
	attroff(A_BOLD);
}

static void draw_gauges(const struct top *top)
{
	const char *between = "";
	char gauge[TOP_GAUGE_TEXT];

	for (size_t i = 0; i < TOP_GAUGES; i++) {
		top_gauges_text(&top->gauges, i, gauge);
		if (!*gauge)
			continue;
		if (!put_if_it_fits(between, gauge))
			return;
		between = "  ";
	}
}

/* Draws how stacks ended, the most frequent reason first. */
static void draw_ends(const struct stacks *stacks, uint64_t n)
{
	bool is_drawn[STACKS_ENDS] = { false };
	char text[64];

	for (;;) {
		size_t most = STACKS_ENDS;

		for (size_t i = 0; i < STACKS_ENDS; i++)
			if (stacks->n_ends[i] && !is_drawn[i] &&
			    (most == STACKS_ENDS || stacks->n_ends[i] > stacks->n_ends[most]))
				most = i;
		if (most == STACKS_ENDS)
			return;
		is_drawn[most] = true;
		snprintf(text, sizeof(text), "%s %.1f %%", stacks_end_name(most),
			 percent(stacks->n_ends[most], n));
		if (!put_if_it_fits("  ", text))
			return;
	}
}

/* Draws the title; a long command is cut so that the rest of the line stays visible. */
static void draw_title(const struct top *top, const struct stacks *stacks)
{
	char rest[128];
	int room;

	snprintf(rest, sizeof(rest), ", %s at %" PRIu64 " Hz  %.1f s", stacks->hello.event,
		 stacks->hello.rate, (stacks->last_time - stacks->hello.start_time) / 1e9);
	mvprintw(0, 0, "stackpipe top: ");
	room = COLS - getcurx(stdscr) - (int)strlen(rest);
	if ((int)strlen(top->target) > room && room > 1)
		printw("%.*s…%s", room - 1, top->target, rest);
	else
		printw("%s%s", top->target, rest);
}

static void draw_head(const struct top *top)
{
	const struct stacks *stacks = &top->recorder.stacks;
	uint64_t n = 0;

	for (size_t i = 0; i < STACKS_ENDS; i++)
		n += stacks->n_ends[i];
	attron(A_BOLD);
	draw_title(top, stacks);
	attroff(A_BOLD);
	mvprintw(1, 0, "%" PRIu64 " samples, %.0f per second, ", n, top->rate);
	if (top->n_lost)
		attron(COLOR_PAIR(1));
	printw("%" PRIu64 " lost", top->n_lost);
	attroff(COLOR_PAIR(1));
	draw_ends(stacks, n);
	move(2, 0);
	draw_gauges(top);
	move(3, 0);
	draw_sum(top);
	if (top->counts.process >= 0)
		printw("  process %s",
		       profile_text(&top->recorder.profile,
				    top->recorder.profile.processes[top->counts.process].name));
	if (top->counts.cgroup >= 0)
		printw("  group %s", profile_text(&top->recorder.profile, top->counts.cgroup));
	if (top->has_symbol)
		printw("  /%s/", top->prompt.text);
	if (top->is_frozen) {
		attron(A_REVERSE);
		printw("  FROZEN ");
		attroff(A_REVERSE);
	}
}

static void draw_function(const struct top *top, const struct live_function *function)
{
	const struct profile *profile = &top->recorder.profile;
	const char *path = profile_text(profile, profile->modules[function->function.module].path);
	enum tree_function_kind kind = function->function.kind;

	printw("%6.2f %%  %6.2f %%  %s%s", percent(function->self, top->counts.n),
	       percent(function->total, top->counts.n),
	       profile_text(profile, function->function.name), tree_kind_mark(kind));
	if (*path && kind != TREE_KERNEL) {
		attron(COLOR_PAIR(2));
		printw("  %s", text_last_part(path));
		attroff(COLOR_PAIR(2));
	}
}

static void draw_functions(const struct top *top, int first, int last)
{
	mvprintw(first, 0,
		 top->order == LIVE_BY_SELF ? "   SELF      total   function"
					    : "   self      TOTAL   function");
	for (size_t i = 0; i < top->n_rows && first + 1 + (int)i < last; i++) {
		move(first + 1 + i, 0);
		if (i == top->selected)
			attron(A_REVERSE);
		draw_function(top, &top->counts.functions[top->rows[i]]);
		attroff(A_REVERSE);
	}
}

/* Shows a container or unit beside the path, as it is more telling. */
static void draw_cgroup(const struct profile *profile, const struct profile_process *process)
{
	const char *path = profile_text(profile, process->cgroup);

	printw("%s", *path ? path : "(none)");
	attron(COLOR_PAIR(2));
	if (process->container)
		printw("  container %s", profile_text(profile, process->container));
	else if (process->unit)
		printw("  %s", profile_text(profile, process->unit));
	attroff(COLOR_PAIR(2));
}

static void draw_groups(const struct top *top, int first, int last)
{
	const struct profile *profile = &top->recorder.profile;

	mvprintw(first, 0,
		 top->view == TOP_PROCESSES ? "    share   process" : "    share   control group");
	for (size_t i = 0; i < top->n_rows && first + 1 + (int)i < last; i++) {
		const struct profile_process *process = &profile->processes[top->groups[i].process];

		move(first + 1 + i, 0);
		if (i == top->selected)
			attron(A_REVERSE);
		printw("%8.2f %%  ", percent(top->groups[i].n, top->counts.n));
		if (top->view == TOP_PROCESSES)
			printw("%s (%" PRIu32 ")", profile_text(profile, process->name),
			       process->pid);
		else
			draw_cgroup(profile, process);
		attroff(A_REVERSE);
	}
}

/* Draws a function's callers and callees, the largest branches first. */
static void draw_subject(struct top *top, int first, int last)
{
	struct top_line lines[TOP_TREE_MAX];
	int line = first;

	for (int side = 0; side < 2; side++) {
		int end = side ? last : first + (last - first) / 2;
		size_t n =
			top_make_tree(top, side ? TOP_CALLEES : TOP_CALLERS, lines, TOP_TREE_MAX);

		attron(A_BOLD);
		mvprintw(line++, 0, side ? "   callees" : "   callers");
		attroff(A_BOLD);
		for (size_t i = 0; i < n && line < end; i++) {
			const struct live_function *function =
				&top->counts.functions[lines[i].function];

			mvprintw(line++, 0, "%6.2f %%  %*s%s", percent(lines[i].n, top->counts.n),
				 lines[i].depth * 2, "",
				 profile_text(&top->recorder.profile, function->function.name));
		}
		line = end;
	}
}

/* Draws the key help in order of importance, as far as it fits. */
static void draw_keys(const struct top *top)
{
	static const char *const keys[] = {
		"q quit",      "↑↓ Enter zoom", "Esc back",	"s sort",      "/ filter", "v view",
		"p processes", "c groups",	"space freeze", "+ - seconds", "w save",
	};

	addstr(" ");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (*keys[i] == 'v' && top->recorder.stacks.events.n < 2)
			continue;
		if (!put_if_it_fits(i ? "  " : "", keys[i]))
			return;
	}
	addstr(" ");
}

static void draw_foot(const struct top *top, int line)
{
	move(line, 0);
	attron(A_REVERSE);
	if (top->prompt.is_open)
		printw(" filter by regular expression: %s_ ", top->prompt.text);
	else if (*top->message)
		printw(" %s ", top->message);
	else
		draw_keys(top);
	attroff(A_REVERSE);
}

void top_screen_draw(struct top *top)
{
	int last = LINES - FOOT_LINES;

	erase();
	draw_head(top);
	if (top->view == TOP_FUNCTIONS)
		draw_functions(top, HEAD_LINES, last);
	else if (top->view == TOP_PROCESSES || top->view == TOP_CGROUPS)
		draw_groups(top, HEAD_LINES, last);
	else
		draw_subject(top, HEAD_LINES, last);
	draw_foot(top, last);
	refresh();
}
