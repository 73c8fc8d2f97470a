/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --debuginfod: uses debug files in the client's cache, and with `on` downloads missing ones in the
 * background, those that most places need first.
 */
#pragma once

#include <stdbool.h>

#include "common/stage/stage.h"
#include "symbolizer/debuginfod/debuginfod-fetcher.h"
#include "symbolizer/debuginfod/debuginfod-option.h"
#include "symbolizer/dwarf/debug-files.h"

struct downloads {
	struct stage *stage; /* borrowed */
	enum debuginfod_mode mode;
	char *urls, *cache;
	struct debuginfod_fetcher fetcher;
	bool has_fetcher;
};

/* Call before options are parsed, which set `mode`, and before anything can use the network. */
void downloads_init(struct downloads *downloads);

/* Adds the download cache to `dirs`, and starts the fetcher. 0 or -ENOMEM. */
int downloads_begin(struct downloads *downloads, struct stage *stage, struct debug_dirs *dirs);
void downloads_deinit(struct downloads *downloads);

/* Notes one more use of a build-id's debug file. */
void downloads_ask(struct downloads *downloads, const void *build_id, size_t size);

/* Returns the next build-id whose file has arrived; false: none. */
bool downloads_take(struct downloads *downloads, struct debuginfod_build_id *ret);
