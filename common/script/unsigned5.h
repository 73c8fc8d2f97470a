/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HotSpot's numbers of few bytes (src/hotspot/share/utilities/unsigned5.hpp of OpenJDK). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UNSIGNED5_LOW = 192, /* a byte below ends a number; each has so many bits: */
	UNSIGNED5_BITS = 6,
	UNSIGNED5_BYTES_MAX = 5,
};

/*
 * Reads a number, and moves `at` behind it. `excluded`: how many bytes, from 0 on, no number has
 * (since JDK 19 one, before none). False: it is not whole.
 */
static inline bool unsigned5_read(const uint8_t **at, const uint8_t *end, uint32_t excluded,
				  uint32_t *ret)
{
	*ret = 0;
	for (unsigned int i = 0; i < UNSIGNED5_BYTES_MAX; i++) {
		uint8_t byte;

		if (*at == end)
			return false;
		byte = *(*at)++;
		*ret += (byte - excluded) << (i * UNSIGNED5_BITS);
		if (byte < UNSIGNED5_LOW)
			break;
	}
	return true;
}
