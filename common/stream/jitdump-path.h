/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jit-PID.dump, in which JIT compilers describe their code to profilers (the Linux kernel's
 * tools/perf/Documentation/jitdump-specification.txt). It is mapped as a marker, contains no code
 * that runs there, and grows all the time without becoming another image.
 */
#pragma once

#include <stdbool.h>

bool jitdump_path_is(const char *path);
