/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person says of debuginfod: --debuginfod, and the servers in DEBUGINFOD_URLS. */
#pragma once

enum debuginfod_mode {
	DEBUGINFOD_OFF,
	DEBUGINFOD_CACHE, /* what has been downloaded before is used */
	DEBUGINFOD_ON,	  /* and what is missing is downloaded */
};

/* The argument of --debuginfod: off, cache or on. 0, or -EINVAL. */
int debuginfod_mode_parse(const char *text, enum debuginfod_mode *ret);

/*
 * Takes DEBUGINFOD_URLS out of the environment, in every mode and before anything else: libdwfl
 * goes to the network by itself, and waits for it, where it finds them. The caller owns what they
 * were; NULL: there were none.
 */
char *debuginfod_take_urls(void);
