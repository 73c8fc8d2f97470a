/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that instruments read (proc(5)), and what their lines mean. */
#pragma once

#include "perf-source/gauges/instruments.h"

struct instrument_file {
	const char *path;
	/* `text` ends with a zero byte, and is changed. `time` is when it was read. */
	void (*parse)(struct instruments *instruments, char *text, uint64_t time);
};

extern const struct instrument_file instrument_files[];
extern const size_t n_instrument_files;
