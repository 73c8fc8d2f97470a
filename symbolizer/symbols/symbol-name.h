/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbol names as sent: long ones are cut, marked and counted. */
#pragma once

#include "common/base/long-name.h"
#include "common/stage/stage.h"

/* NULL: no name. `seed` distinguishes names that were cut earlier. Returns `name` or `room`. */
static inline struct wire_string symbol_name_fit(struct stage *stage, const char *name,
						 uint64_t seed, char room[LONG_NAME_MAX + 1])
{
	const char *fitting = name ? long_name_fit(name, seed, room) : "";
	size_t size = strlen(fitting);

	if (long_name_is_cut(fitting, size))
		++*counters_get(&stage->counters, "refused", "bytes-of-long-names");
	return (struct wire_string){ fitting, size };
}
