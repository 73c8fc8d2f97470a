/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stackpipe diff: change between two recordings by function, in time or what else was counted.
 * --shares makes recordings of different lengths comparable; -o writes a page that compares them.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/json.h"
#include "common/stage/arguments.h"
#include "common/stage/stage.h"
#include "stackpipe/commands.h"
#include "stackpipe/diff/comparison.h"

enum { KEY_JSON = 0x100, KEY_FORCE, KEY_SHARES, KEY_VIEW };

enum { ROWS_DEFAULT = 25 };

/* Standard deviations shown as chance: one of twenty changes by chance alone is larger. */
#define CHANCE_DEVIATIONS 1.96

/* Recordings whose lengths differ by more than this fraction get a caution. */
#define LENGTH_TOLERANCE 0.1

struct diff {
	struct comparison comparison;
	const char *page;
	size_t n_paths, n_rows;
	bool is_json, is_forced, has_shares;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct diff *diff = state->input;
	char *end;

	switch (key) {
	case 'o':
		diff->page = arg;
		return 0;
	case 'n':
		diff->n_rows = strtoul(arg, &end, 10);
		if (!*arg || *end || *arg == '-')
			stage_usage_error(state, "-n takes a number, not '%s'", arg);
		return 0;
	case KEY_JSON:
		diff->is_json = true;
		return 0;
	case KEY_FORCE:
		diff->is_forced = true;
		return 0;
	case KEY_SHARES:
		diff->has_shares = true;
		return 0;
	case KEY_VIEW:
		diff->comparison.view_name = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (diff->n_paths == COMPARISON_SIDES)
			stage_usage_error(
				state, "unexpected argument '%s': diff takes two recordings", arg);
		diff->comparison.sides[diff->n_paths++].path = arg;
		return 0;
	case ARGP_KEY_END:
		if (diff->n_paths != COMPARISON_SIDES)
			stage_usage_error(
				state, "missing argument: give two recordings, before and after");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "output", 'o', "FILE.html", 0, "Write a page that compares the recordings", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace FILE.html if it exists", 0 },
	{ "rows", 'n', "N", 0, "Functions to show (default 25, 0 for all)", 0 },
	{ "shares", KEY_SHARES, NULL, 0,
	  "Compare percentages of the whole instead of absolute amounts", 0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "What to compare: samples, on-cpu, off-cpu, wakeups, wall-clock or an event name (default: the "
	  "first event, by weight)",
	  0 },
	{ "json", KEY_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 },
};

/* Converts an amount for display: percent with --shares, milliseconds for time, else unchanged. */
static double shown(const struct diff *diff, const uint64_t *amounts, int side)
{
	const struct compared_side *all = &diff->comparison.sides[side];

	if (diff->has_shares)
		return all->sum ? 100.0 * amounts[side] / all->sum : 0;
	return all->is_time ? amounts[side] / 1e6 : amounts[side];
}

static double change(const struct diff *diff, const uint64_t *amounts)
{
	return shown(diff, amounts, 1) - shown(diff, amounts, 0);
}

/* The change that sampling alone may cause, from the numbers of samples (Poisson). */
static double chance(const struct diff *diff, const struct compared_function *function)
{
	double variance = 0;

	for (int side = 0; side < COMPARISON_SIDES; side++) {
		double amount = shown(diff, function->self, side);

		if (function->n[side])
			variance += amount * amount / function->n[side];
	}
	return CHANCE_DEVIATIONS * sqrt(variance);
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct compared_function *left = *(void **)a, *right = *(void **)b;
	double by_left = fabs(change(arg, left->self)), by_right = fabs(change(arg, right->self));

	if (by_left != by_right)
		return by_left > by_right ? -1 : 1;
	by_left = fabs(change(arg, left->total));
	by_right = fabs(change(arg, right->total));
	if (by_left != by_right)
		return by_left > by_right ? -1 : 1;
	if (left->self[1] != right->self[1])
		return left->self[1] > right->self[1] ? -1 : 1;
	return strcmp(left->name, right->name);
}

static const char *unit_of(const struct diff *diff)
{
	return diff->has_shares ? ", %" : diff->comparison.sides[0].is_time ? ", ms" : "";
}

static void print_head(const struct diff *diff)
{
	static const char *const names[] = { "before", "after" };
	const struct compared_side *sides = diff->comparison.sides;

	for (int side = 0; side < COMPARISON_SIDES; side++) {
		const struct compared_side *all = &sides[side];

		printf("%-6s  ", names[side]);
		if (all->is_time)
			printf("%12.3f ms", all->sum / 1e6);
		else
			printf("%12" PRIu64, all->sum);
		printf(" of %s, %" PRIu64 " samples in %.1f s, %" PRIu64 " lost%s: %s\n", all->view,
		       all->n, all->seconds, all->n_lost,
		       all->is_whole ? "" : ", INCOMPLETE: the recording ended early", all->path);
	}
	if (sides[0].sum && !diff->has_shares)
		printf("change  %+11.2f %%\n",
		       100.0 * ((double)sides[1].sum - sides[0].sum) / sides[0].sum);
}

/* Warns of what may be misread in the table. */
static void print_caution(const struct diff *diff)
{
	const struct compared_side *sides = diff->comparison.sides;
	double longer = fmax(sides[0].seconds, sides[1].seconds);

	if (!diff->has_shares &&
	    fabs(sides[0].seconds - sides[1].seconds) > LENGTH_TOLERANCE * longer)
		puts("The recordings differ in length: if both did the same work, that is part of the "
		     "change; if not, use --shares.");
	if (diff->has_shares)
		puts("Shares: if one function takes more, the shares of all others fall.");
}

/* Prints the relative change; "new" if the function had nothing before. */
static void print_relative(const struct diff *diff, const uint64_t *amounts)
{
	double before = shown(diff, amounts, 0);

	if (before > 0)
		printf("  %+7.1f %%", 100.0 * change(diff, amounts) / before);
	else
		printf("  %9s", amounts[1] ? "new" : "");
}

static void print_text(const struct diff *diff, struct compared_function **list, size_t n)
{
	bool has_chance = diff->comparison.sides[0].is_sampled;
	const char *unit = unit_of(diff);

	print_head(diff);
	print_caution(diff);
	printf("\n  self%-*s total%s\n", has_chance ? 58 : 45, unit, unit);
	printf("      before       after      change  relative%s      before       after      change  "
	       "function\n",
	       has_chance ? "      chance" : "");
	for (size_t i = 0; i < n; i++) {
		printf("  %10.2f  %10.2f  %+10.2f", shown(diff, list[i]->self, 0),
		       shown(diff, list[i]->self, 1), change(diff, list[i]->self));
		print_relative(diff, list[i]->self);
		if (has_chance)
			printf("  +-%8.2f", chance(diff, list[i]));
		printf("  %10.2f  %10.2f  %+10.2f  %s\n", shown(diff, list[i]->total, 0),
		       shown(diff, list[i]->total, 1), change(diff, list[i]->total), list[i]->name);
	}
}

static void print_json(const struct diff *diff, struct compared_function **list, size_t n)
{
	const struct compared_side *sides = diff->comparison.sides;

	printf("{\"counted\":");
	json_put_text(stdout, sides[0].view);
	printf(",\"unit\":\"%s\",\"sums\":[%" PRIu64 ",%" PRIu64 "],\"samples\":[%" PRIu64
	       ",%" PRIu64 "],\"seconds\":[%.9f,%.9f],\"lost\":[%" PRIu64 ",%" PRIu64
	       "],\n\"functions\":[",
	       sides[0].is_time ? "nanoseconds" : "events", sides[0].sum, sides[1].sum, sides[0].n,
	       sides[1].n, sides[0].seconds, sides[1].seconds, sides[0].n_lost, sides[1].n_lost);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n{\"function\":" : "\n{\"function\":", stdout);
		json_put_text(stdout, list[i]->name);
		printf(",\"self\":[%" PRIu64 ",%" PRIu64 "],\"total\":[%" PRIu64 ",%" PRIu64
		       "],\"self_samples\":[%" PRIu64 ",%" PRIu64 "]}",
		       list[i]->self[0], list[i]->self[1], list[i]->total[0], list[i]->total[1],
		       list[i]->n[0], list[i]->n[1]);
	}
	puts("]}");
}

static int print(struct diff *diff)
{
	size_t n;
	_cleanup_free_ struct compared_function **list = comparison_list(&diff->comparison, &n);

	if (!list)
		return STAGE_EXIT_FAILED;
	qsort_r(list, n, sizeof(*list), compare, diff);
	if (diff->n_rows && diff->n_rows < n)
		n = diff->n_rows;
	if (diff->is_json)
		print_json(diff, list, n);
	else
		print_text(diff, list, n);
	return fflush(stdout) == 0 || errno == EPIPE ? STAGE_EXIT_OK : STAGE_EXIT_FAILED;
}

/* Runs `stackpipe convert` in this process. */
static int convert(const char *from, const char *to, const char *base, bool is_forced)
{
	const char *words[] = { "convert", "-q", from, to, NULL, NULL, NULL, NULL };
	int n = 4;

	if (is_forced)
		words[n++] = "--force";
	if (base) {
		words[n++] = "--base";
		words[n++] = base;
	}
	return command_convert(n, (char **)words);
}

/* Makes a page of the first recording, as the base of the second one's page. */
static int make_page(const struct diff *diff)
{
	char base[] = "/tmp/stackpipe-base-XXXXXX.html";
	_cleanup_fd_ int fd = mkstemps(base, strlen(".html"));
	int status;

	if (fd < 0) {
		fprintf(stderr, "stackpipe diff: error: could not create '%s': %s\n", base,
			strerror(errno));
		return STAGE_EXIT_FAILED;
	}
	status = convert(diff->comparison.sides[0].path, base, NULL, true);
	if (status == STAGE_EXIT_OK)
		status = convert(diff->comparison.sides[1].path, diff->page, base, diff->is_forced);
	unlink(base);
	return status;
}

/* Refuses views of different units, e.g. time and cycles. */
static int check_units(const struct comparison *comparison)
{
	const struct compared_side *sides = comparison->sides;

	if (sides[0].is_time == sides[1].is_time &&
	    (sides[0].is_time || !strcmp(sides[0].view, sides[1].view)))
		return STAGE_EXIT_OK;
	fprintf(stderr,
		"stackpipe diff: error: '%s' counts %s but '%s' counts %s: use --view=samples, "
		"with --shares if the recordings differ in length\n",
		sides[0].path, sides[0].view, sides[1].path, sides[1].view);
	return STAGE_EXIT_FAILED;
}

static int compare_both(struct diff *diff)
{
	int status = STAGE_EXIT_OK;

	for (int side = 0; side < COMPARISON_SIDES && status == STAGE_EXIT_OK; side++)
		status = comparison_read(&diff->comparison, side);
	if (status == STAGE_EXIT_OK)
		status = check_units(&diff->comparison);
	return status == STAGE_EXIT_OK ? print(diff) : status;
}

int command_diff(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "BEFORE AFTER",
					  "Show what changed between two recordings." };
	struct diff diff = { .n_rows = ROWS_DEFAULT };
	int status;

	arguments_parse(&argp, "stackpipe diff", argc, argv, 0, &diff);
	status = diff.page ? make_page(&diff) : compare_both(&diff);
	comparison_deinit(&diff.comparison);
	return status;
}
