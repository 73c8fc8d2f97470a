/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that gauges read, with their parsers (proc(5)). */
#pragma once

#include "perf-source/gauges/gauges.h"

extern const struct gauge_file gauge_files[];
extern const size_t n_gauge_files;
