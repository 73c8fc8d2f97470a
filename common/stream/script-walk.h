/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The form of sample.walk: lists, each with its head and its elements, and each element with its
 * window behind it. Little-endian, without gaps.
 */
#pragma once

#include <stdint.h>

struct walk_list_head {
	uint16_t list, window, n; /* its number, bytes of each window, elements */
	uint16_t end;		  /* enum wire_walk_end */
};

struct walk_element {
	uint64_t address;
	uint64_t identity; /* of its object; 0: it has none, or it could not be read */
};
