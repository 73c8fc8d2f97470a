/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which version of CPython an image is. */
#pragma once

#include "perf-source/image/loaded-image.h"

/*
 * The version in the form of Py_Version (0x030d00f0: 3.13.0), which is exported since 3.11. Before,
 * only the text that Py_GetVersion() returns has it: one of the texts to which its code refers.
 * 0: unknown.
 */
uint32_t cpython_version_find(const struct loaded_image *image);
