/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What JIT compilers tell profilers of their code: jit-PID.dump (the Linux kernel's
 * tools/perf/Documentation/jitdump-specification.txt). It is mapped as a mark, holds no code that
 * runs there, and grows all the time: that makes no other file of it.
 */
#pragma once

#include <stdbool.h>

bool jitdump_path_is(const char *path);
