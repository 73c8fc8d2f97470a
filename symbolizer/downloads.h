/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --debuginfod: debug files that others have downloaded are used, and with `on` what is missing is
 * downloaded in the background, what most places need first.
 */
#pragma once

#include <stdbool.h>

#include "common/stage/stage.h"
#include "symbolizer/dwarf/debug-files.h"
#include "symbolizer/debuginfod/debuginfod-fetcher.h"
#include "symbolizer/debuginfod/debuginfod-option.h"

struct downloads {
	struct stage *stage; /* borrowed */
	enum debuginfod_mode mode;
	char *urls, *cache;
	struct debuginfod_fetcher fetcher;
	bool has_fetcher;
};

/* Before the options are read, which set `mode`, and before anything can go to the network. */
void downloads_init(struct downloads *downloads);

/* Tells `dirs` where downloaded files lie, and starts what downloads others. 0 or -ENOMEM. */
int downloads_begin(struct downloads *downloads, struct stage *stage, struct debug_dirs *dirs);
void downloads_deinit(struct downloads *downloads);

/* The debug file of a build-id is of use once more. */
void downloads_ask(struct downloads *downloads, const void *build_id, size_t size);

/* The next one that has arrived since; false: there is none. */
bool downloads_take(struct downloads *downloads, struct debuginfod_build_id *ret);
