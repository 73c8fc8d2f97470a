/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the kernel's functions, where the kernel that was recorded is the one that runs. */
#pragma once

#include "common/record.h"
#include "common/stage.h"
#include "perfdata-source/input.h"

/* What perf calls the kernel, in its list of build-ids and in front of a symbol's name. */
#define KERNEL_NAMES_IMAGE "[kernel.kallsyms]"

/*
 * Sends /proc/kallsyms if the file was written to since this machine was started, and `kernel` is
 * where the running kernel is: perf tells there at which address one of its symbols was
 * (tools/perf/util/synthetic-events.c), and from boot to boot it is another.
 * 0 or -errno of the output; where there are no names, a person is told why.
 */
int kernel_names_put(struct stage *stage, int kallsyms_fd, const struct input *input,
		     const struct record_mmap2 *kernel);
