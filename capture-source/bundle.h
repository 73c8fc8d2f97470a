/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sysprof's "__symbols__": which name an address of a process has. */
#pragma once

#include "common/stream/syscap-format.h"

#include <stddef.h>

enum { BUNDLE_BYTES_MAX = 1 << 30 };

struct bundle {
	char *data;
	size_t size;
	struct syscap_bundled_symbol *list; /* by PID and address; their texts lie in the data */
	size_t n;
	size_t n_refused;
};

/*
 * The file may be gzip-compressed. 0, -EBADMSG: it cannot be decompressed or is too large, -ENOMEM.
 * Entries that make no sense are left out.
 */
int bundle_init(struct bundle *bundle, const char *data, size_t size);
void bundle_deinit(struct bundle *bundle);

/* The name of an address, NULL: it has none; `ret_symbol` is the entry. */
const char *bundle_find(const struct bundle *bundle, uint32_t pid, uint64_t address,
			const struct syscap_bundled_symbol **ret_symbol);
