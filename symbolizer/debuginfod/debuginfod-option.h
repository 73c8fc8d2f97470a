/* SPDX-License-Identifier: GPL-3.0-or-later */
/* User settings for debuginfod: --debuginfod, and the servers in DEBUGINFOD_URLS. */
#pragma once

enum debuginfod_mode {
	DEBUGINFOD_OFF,
	DEBUGINFOD_CACHE, /* uses earlier downloads */
	DEBUGINFOD_ON,	  /* also downloads missing files */
};

/* Parses the argument of --debuginfod: off, cache or on. 0 or -EINVAL. */
int debuginfod_mode_parse(const char *text, enum debuginfod_mode *ret);

/*
 * Removes DEBUGINFOD_URLS from the environment, in every mode and before anything else: with it
 * libdwfl uses the network by itself, and waits for it. The caller frees the result; NULL: unset.
 */
char *debuginfod_take_urls(void);
