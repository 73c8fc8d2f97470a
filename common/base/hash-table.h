/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * uthash, which ends the program where there is no memory unless it is told not to. An item that
 * could not be added is in no table: ask HASH_HAS() behind each HASH_ADD().
 */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Whether `item` has just been added by its handle `hh`. */
#define HASH_HAS(hh, item) ((item)->hh.tbl != NULL)
