/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of the kernel's functions, where the kernel that was recorded is the one that runs.
 *
 * There are two sources of them. /proc/kallsyms has all that there is now, but is of this boot, and
 * the kernel takes long to write it. perf keeps a copy by the kernel's build-id, which may be of
 * any boot: in it the kernel's own functions are believed if the kernel was where it is there, as
 * its build-id fixes the rest; modules and what else comes and goes stand behind them and are left
 * out. So the copy is enough for a kernel without modules, and better than nothing for a file of an
 * earlier boot.
 */
#pragma once

#include "common/source/perf-record.h"
#include "common/source/register-writers.h"
#include "common/stage/stage.h"
#include "perfdata-source/input.h"

/* What perf calls the kernel, in its list of build-ids and in front of a symbol's name. */
#define KERNEL_NAMES_IMAGE "[kernel.kallsyms]"

enum { KERNEL_NAMES_SYMBOL = 128 };

struct kernel_names {
	int kallsyms_fd; /* -errno: it cannot be opened */
	int copy_fd;	 /* perf's copy of it, of this kernel; -1: there is none to be believed */
	uint8_t build_id[WIRE_BUILD_ID_MAX]; /* of this kernel */
	size_t build_id_size;
	/*
	 * As perf tells it (tools/perf/util/synthetic-events.c): at which address one of the
	 * kernel's symbols was. From boot to boot it is another.
	 */
	char symbol[KERNEL_NAMES_SYMBOL];
	uint64_t address;
	bool is_emitted;  /* these two */
	bool has_modules; /* now, or when it was recorded */
	bool is_settled;
	struct register_writers writers; /* known once it is settled */
};

/* Opens what may be needed: what /proc/kallsyms shows depends on who has opened it. */
void kernel_names_open(struct kernel_names *names);
void kernel_names_close(struct kernel_names *names);

/* A mapping of the kernel's, of itself or of a module. */
void kernel_names_take(struct kernel_names *names, const struct perf_record_mmap2 *mapping);

/* Whether the kernel was told of, and nobody has asked for its names yet. */
static inline bool kernel_names_is_due(const struct kernel_names *names)
{
	return names->is_emitted && !names->is_settled;
}

/*
 * All of the kernel's mappings have been told, and its build-id was the given one (empty: that is
 * not known): sends its names. 0 or -errno of the output; what has none, a person is told why.
 */
int kernel_names_settle(struct kernel_names *names, struct stage *stage, const struct input *input,
			struct wire_blob build_id);
