/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stackpipe diff: what has changed between two recordings, by function. Shares are compared, as no
 * two recordings have the same number of samples. With -o, a page shows it.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/arguments.h"
#include "common/cleanup.h"
#include "common/stage.h"
#include "stackpipe/commands.h"
#include "stackpipe/folded-recording.h"

enum { KEY_JSON = 0x100, KEY_FORCE };

enum { ROWS_DEFAULT = 25 };

struct comparison {
	const char *paths[FOLDED_SIDES], *page;
	size_t n_paths, n_rows;
	bool is_json, is_forced;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct comparison *comparison = state->input;
	char *end;

	switch (key) {
	case 'o':
		comparison->page = arg;
		return 0;
	case 'n':
		comparison->n_rows = strtoul(arg, &end, 10);
		if (*end || *arg == '-')
			stage_usage_error(state, "-n is a number, not '%s'", arg);
		return 0;
	case KEY_JSON:
		comparison->is_json = true;
		return 0;
	case KEY_FORCE:
		comparison->is_forced = true;
		return 0;
	case ARGP_KEY_ARG:
		if (comparison->n_paths == FOLDED_SIDES)
			stage_usage_error(state, "two recordings, not '%s' too", arg);
		comparison->paths[comparison->n_paths++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (comparison->n_paths != FOLDED_SIDES)
			stage_usage_error(state, "name two recordings: before and after");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "output", 'o', "FILE.html", 0, "Write a page that compares them", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace FILE.html if it exists", 0 },
	{ "rows", 'n', "N", 0, "So many functions (25; 0: all)", 0 },
	{ "json", KEY_JSON, NULL, 0, "For programs", 0 },
	{ 0 },
};

static double share(const struct folded_counts *counts, const uint64_t *values, int side)
{
	return counts->n[side] ? 100.0 * values[side] / counts->n[side] : 0;
}

static double change(const struct folded_counts *counts, const uint64_t *values)
{
	return share(counts, values, 1) - share(counts, values, 0);
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct folded_function *left = *(void **)a, *right = *(void **)b;
	double by_left = fabs(change(arg, left->self)), by_right = fabs(change(arg, right->self));

	if (by_left != by_right)
		return by_left > by_right ? -1 : 1;
	by_left = fabs(change(arg, left->total));
	by_right = fabs(change(arg, right->total));
	if (by_left != by_right)
		return by_left > by_right ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void print_text(const struct folded_counts *counts, struct folded_function **list, size_t n,
		       const struct comparison *comparison)
{
	printf("before: %" PRIu64 " samples of %s\nafter:  %" PRIu64 " samples of %s\n\n"
	       "  self before   after   change    total before   after   change   function\n",
	       counts->n[0], comparison->paths[0], counts->n[1], comparison->paths[1]);
	for (size_t i = 0; i < n; i++)
		printf("     %6.2f %%  %6.2f  %+7.2f        %6.2f %%  %6.2f  %+7.2f   %s\n",
		       share(counts, list[i]->self, 0), share(counts, list[i]->self, 1),
		       change(counts, list[i]->self), share(counts, list[i]->total, 0),
		       share(counts, list[i]->total, 1), change(counts, list[i]->total),
		       list[i]->name);
}

static void print_json(const struct folded_counts *counts, struct folded_function **list, size_t n)
{
	printf("{\"samples\": [%" PRIu64 ", %" PRIu64 "],\n", counts->n[0], counts->n[1]);
	folded_counts_put_functions(list, n, stdout);
}

static int print(struct folded_counts *counts, const struct comparison *comparison)
{
	size_t n;
	_cleanup_free_ struct folded_function **list = folded_counts_list(counts, &n);

	if (!list)
		return STAGE_EXIT_FAILED;
	qsort_r(list, n, sizeof(*list), compare, counts);
	if (comparison->n_rows && comparison->n_rows < n)
		n = comparison->n_rows;
	if (comparison->is_json)
		print_json(counts, list, n);
	else
		print_text(counts, list, n, comparison);
	return fflush(stdout) == 0 ? STAGE_EXIT_OK : STAGE_EXIT_FAILED;
}

/* Another of our commands, as a part of this one. */
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

/* The page of the first one is what the second one's is compared with. */
static int make_page(const struct comparison *comparison)
{
	char base[] = "/tmp/stackpipe-base-XXXXXX.html";
	_cleanup_fd_ int fd = mkstemps(base, strlen(".html"));
	int status;

	if (fd < 0) {
		fprintf(stderr, "stackpipe diff: error: could not create '%s': %s\n", base,
			strerror(errno));
		return STAGE_EXIT_FAILED;
	}
	status = convert(comparison->paths[0], base, NULL, true);
	if (status == STAGE_EXIT_OK)
		status = convert(comparison->paths[1], comparison->page, base,
				 comparison->is_forced);
	unlink(base);
	return status;
}

int command_diff(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "BEFORE AFTER",
					  "Says what has changed between two recordings." };
	_cleanup_(folded_counts_deinit) struct folded_counts counts = { 0 };
	struct comparison comparison = { .n_rows = ROWS_DEFAULT };
	int status = STAGE_EXIT_OK;

	arguments_parse(&argp, "stackpipe diff", argc, argv, 0, &comparison);
	if (comparison.page)
		return make_page(&comparison);
	for (int side = 0; side < FOLDED_SIDES && status == STAGE_EXIT_OK; side++)
		status = folded_recording_read(&counts, comparison.paths[side], side, "diff", NULL);
	return status == STAGE_EXIT_OK ? print(&counts, &comparison) : status;
}
