/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "common/wire/wire.h"

/* Reads a field of a recorded object. False: the record does not reach so far. */
static inline bool memory_field(const struct wire_memory *record, int64_t at, void *ret,
				size_t size)
{
	if (at < 0 || record->bytes.size < size || (size_t)at > record->bytes.size - size)
		return false;
	memcpy(ret, (const char *)record->bytes.data + at, size);
	return true;
}
