/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizer/debuginfod/debuginfod-cache.h"
#include "symbolizer/downloads.h"

void downloads_init(struct downloads *downloads)
{
	downloads->mode = DEBUGINFOD_CACHE;
	downloads->urls = debuginfod_take_urls();
}

/* A failure is only a warning: naming works without downloads. */
static void start_fetcher(struct downloads *downloads)
{
	int r;

	if (!downloads->urls) {
		stage_warn(downloads->stage,
			   "no debug files are downloaded: DEBUGINFOD_URLS names no server");
		return;
	}
	r = debuginfod_fetcher_start(&downloads->fetcher, downloads->urls);
	downloads->has_fetcher = r == 0;
	if (r < 0)
		stage_warn(downloads->stage, "no debug files are downloaded: %s", strerror(-r));
}

int downloads_begin(struct downloads *downloads, struct stage *stage, struct debug_dirs *dirs)
{
	downloads->stage = stage;
	if (downloads->mode == DEBUGINFOD_OFF)
		return 0;
	downloads->cache = debuginfod_cache_path();
	if (!downloads->cache)
		return -ENOMEM;
	dirs->debuginfod_cache = downloads->cache;
	if (downloads->mode == DEBUGINFOD_ON)
		start_fetcher(downloads);
	return 0;
}

void downloads_deinit(struct downloads *downloads)
{
	if (downloads->has_fetcher)
		debuginfod_fetcher_stop(&downloads->fetcher);
	free(downloads->urls);
	free(downloads->cache);
}

void downloads_ask(struct downloads *downloads, const void *build_id, size_t size)
{
	if (downloads->has_fetcher && size)
		debuginfod_fetcher_ask(&downloads->fetcher, build_id, size);
}

/* In run counters: outcomes depend on the network, not on the stream. */
static void count(struct downloads *downloads, enum debuginfod_outcome outcome)
{
	++*counters_get(&downloads->stage->run_counters, "debuginfod",
			debuginfod_outcome_name(outcome));
}

bool downloads_take(struct downloads *downloads, struct debuginfod_build_id *ret)
{
	int r;

	if (!downloads->has_fetcher)
		return false;
	while ((r = debuginfod_fetcher_poll(&downloads->fetcher, ret)) != 0) {
		if (r < 0) {
			stage_warn(downloads->stage, "no more debug files are downloaded: %s",
				   debuginfod_fetcher_explain(r));
			continue;
		}
		count(downloads, r);
		if (r == DEBUGINFOD_ARRIVED)
			return true;
	}
	return false;
}
