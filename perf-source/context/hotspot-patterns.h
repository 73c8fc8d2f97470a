/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code of HotSpot's compilers where a frame is not all there. */
#pragma once

#include "perf-source/bpf/walk-program.h"

void hotspot_patterns_make(struct walk_pattern ret[WALK_PATTERNS_MAX]);
