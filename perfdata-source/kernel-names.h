/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of kernel functions, if the recorded kernel is the running one.
 *
 * There are two sources. /proc/kallsyms has all current names, but is of this boot, and takes the
 * kernel long to write. perf keeps a copy by build-id, which may be of any boot: its names of the
 * kernel proper are trusted if one symbol has the recorded address, as the build-id fixes the
 * others; modules and other transient code stand behind them and are left out. So the copy suffices
 * for a kernel without modules, and is better than nothing for a file of an earlier boot.
 */
#pragma once

#include "common/source/perf-record.h"
#include "common/source/register-writers.h"
#include "common/stage/stage.h"
#include "perfdata-source/input.h"

/* perf's name of the kernel, in its build-id list and before a symbol's name. */
#define KERNEL_NAMES_IMAGE "[kernel.kallsyms]"

enum { KERNEL_NAMES_SYMBOL = 128 };

struct kernel_names {
	int kallsyms_fd; /* -errno: could not be opened */
	int copy_fd;	 /* perf's copy of kallsyms for this kernel; -1: no trusted copy */
	uint8_t build_id[WIRE_BUILD_ID_MAX]; /* of the running kernel */
	size_t build_id_size;
	/*
	 * A kernel symbol and its recorded address, which differs from boot to boot, as in perf's
	 * record of the kernel's mapping (tools/perf/util/synthetic-events.c).
	 */
	char symbol[KERNEL_NAMES_SYMBOL];
	uint64_t address;
	bool is_emitted;  /* symbol and address are set */
	bool has_modules; /* now, or when recording */
	bool is_settled;
	struct register_writers writers; /* valid once settled */
};

/* Opens files in advance: what /proc/kallsyms shows depends on the capabilities of its opener. */
void kernel_names_open(struct kernel_names *names);
void kernel_names_close(struct kernel_names *names);

/* Takes a mapping of the kernel proper or of a module. */
void kernel_names_take(struct kernel_names *names, const struct perf_record_mmap2 *mapping);

/* Whether the kernel's mapping was seen, but no names were emitted yet. */
static inline bool kernel_names_is_due(const struct kernel_names *names)
{
	return names->is_emitted && !names->is_settled;
}

/*
 * Emits the kernel's names, once all of its mappings were seen; warns if there are none. `build_id`
 * is that of the recorded kernel; empty: unknown. 0 or -errno of the output.
 */
int kernel_names_settle(struct kernel_names *names, struct stage *stage, const struct input *input,
			struct wire_blob build_id);
