/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of all addresses of processes in a capture: Sysprof's "__symbols__", written at the
 * end. Symbols of ended processes are not looked up any more and wait in a temporary file, so that
 * a long recording of short processes does not fill the memory.
 */
#pragma once

#include <stdio.h>

#include "common/base/pair-map.h"
#include "profile/names/names.h"

enum {
	SYSCAP_SYMBOLS_MAX = 1 << 18,	    /* addresses of living processes */
	SYSCAP_SYMBOLS_ENDED_MAX = 1 << 22, /* addresses of ended ones: 64 MiB of a file */
};

struct syscap_symbols {
	struct pair_map living; /* (PID, address) → name */
	FILE *ended;		/* NULL: could not be made */
	size_t n_ended;
};

void syscap_symbols_init(struct syscap_symbols *symbols);
void syscap_symbols_deinit(struct syscap_symbols *symbols);

/* Moves symbols of ended processes to the file. Does so only now and then. */
void syscap_symbols_put_away(struct syscap_symbols *symbols,
			     bool (*is_living)(uint64_t pid, void *arg), void *arg);

/* The whole table as bytes, which the caller frees. 0, -EIO or -ENOMEM. */
int syscap_symbols_bundle(const struct syscap_symbols *symbols, const struct names *names,
			  char **ret, size_t *ret_size);
