/* SPDX-License-Identifier: GPL-3.0-or-later */
/* uthash that does not exit without memory: HASH_HAS() shows whether HASH_ADD() has succeeded. */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Whether the HASH_ADD() of `item` by its handle `hh` has succeeded. */
#define HASH_HAS(hh, item) ((item)->hh.tbl != NULL)
