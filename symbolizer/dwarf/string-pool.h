/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings one behind the other, each once for its address, with numbers instead of pointers. */
#pragma once

#include "common/base/pair-map.h"

enum {
	STRING_POOL_MAX = 1 << 20,	/* strings, */
	STRING_POOL_SIZE_MAX = 1 << 26, /* and bytes */
};

struct string_pool {
	char *bytes; /* the first one is 0 */
	size_t size, n_allocated;
	struct pair_map known; /* (address, 0) → number */
	int error;	       /* 0, or why a string is missing: -ENOMEM, -ENOSPC or -EFBIG */
};

void string_pool_init(struct string_pool *pool);
void string_pool_deinit(struct string_pool *pool);

/* The number of a string, which must stay as it is and where it is; 0: NULL, or an error. */
uint32_t string_pool_add(struct string_pool *pool, const char *string);
