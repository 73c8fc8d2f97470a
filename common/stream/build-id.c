/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "common/stream/build-id.h"

char *build_id_text(const uint8_t *id, size_t size, char ret[BUILD_ID_TEXT])
{
	ret[0] = 0;
	for (size_t i = 0; i < size && i < WIRE_BUILD_ID_MAX; i++)
		sprintf(ret + 2 * i, "%02x", id[i]);
	return ret;
}
