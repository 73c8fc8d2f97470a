/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sysprof's "__symbols__": names of addresses of processes. */
#pragma once

#include "common/stream/syscap-format.h"

#include <stddef.h>

enum { BUNDLE_BYTES_MAX = 1 << 30 };

struct bundle {
	char *data;
	size_t size;
	struct syscap_bundled_symbol *list; /* by PID and address; texts are in the data */
	size_t n;
	size_t n_refused;
};

/*
 * `data` may be gzip-compressed. 0; -EBADMSG: it cannot be decompressed, or is too large; -ENOMEM.
 * Invalid entries are left out.
 */
int bundle_init(struct bundle *bundle, const char *data, size_t size);
void bundle_deinit(struct bundle *bundle);

/* The name of an address, and its entry; NULL: it has none. */
const char *bundle_find(const struct bundle *bundle, uint32_t pid, uint64_t address,
			const struct syscap_bundled_symbol **ret_symbol);
