/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GNU build-id of the kernel that runs: there is no file to be read it from. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/wire.h"

/*
 * Finds it in ELF notes, one behind the other. Its size, at most WIRE_BUILD_ID_MAX, and `ret`
 * points into the notes; 0: there is none, or they are damaged in front of it.
 */
size_t kernel_build_id_find(const void *notes, size_t size, const uint8_t **ret);

/* The same of /sys/kernel/notes, which anybody may read. */
size_t kernel_build_id_read(uint8_t ret[WIRE_BUILD_ID_MAX]);
