/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GNU build-id of a file as hexadecimal digits, for people and paths. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/wire.h"

enum { BUILD_ID_TEXT = 2 * WIRE_BUILD_ID_MAX + 1 };

/* Zero-terminated and cut after WIRE_BUILD_ID_MAX bytes of id. Returns `ret`. */
char *build_id_text(const uint8_t *id, size_t size, char ret[BUILD_ID_TEXT]);
