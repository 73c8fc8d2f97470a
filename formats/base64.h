/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64 (RFC 4648, section 4). */
#pragma once

#include <stddef.h>
#include <stdio.h>

void base64_put(FILE *out, const void *data, size_t size);
