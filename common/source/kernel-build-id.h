/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GNU build-id of the running kernel, for which there is no file to read. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/wire.h"

/*
 * Finds the build-id in consecutive ELF notes. Returns its size, at most WIRE_BUILD_ID_MAX, and
 * points `ret` into the notes; 0: none, or the notes before it are damaged.
 */
size_t kernel_build_id_find(const void *notes, size_t size, const uint8_t **ret);

/* The same from /sys/kernel/notes, which any user may read. */
size_t kernel_build_id_read(uint8_t ret[WIRE_BUILD_ID_MAX]);
