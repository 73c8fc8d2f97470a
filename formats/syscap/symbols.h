/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which name each address of each process has in a capture: Sysprof's "__symbols__", which is
 * written at the end. Of processes that have ended nothing is looked up any more: theirs wait in a
 * temporary file, so that a long recording of short processes does not fill the memory.
 */
#pragma once

#include <stdio.h>

#include "profile/names.h"
#include "common/base/pair-map.h"

enum {
	SYSCAP_SYMBOLS_MAX = 1 << 18,	    /* addresses of living processes */
	SYSCAP_SYMBOLS_ENDED_MAX = 1 << 22, /* of others: 64 MiB of a file */
};

struct syscap_symbols {
	struct pair_map living; /* (PID, address) → name */
	FILE *ended;		/* NULL: there is none, or there can be none */
	size_t n_ended;
};

void syscap_symbols_init(struct syscap_symbols *symbols);
void syscap_symbols_deinit(struct syscap_symbols *symbols);

/* Now and then: puts away what is of processes that are not living. */
void syscap_symbols_put_away(struct syscap_symbols *symbols,
			     bool (*is_living)(uint64_t pid, void *arg), void *arg);

/* The whole table as bytes, which the caller frees. 0, -EIO or -ENOMEM. */
int syscap_symbols_bundle(const struct syscap_symbols *symbols, const struct names *names,
			  char **ret, size_t *ret_size);
