/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes of which something is not told any more are counted, and named at the end. */
#include <inttypes.h>
#include <stdio.h>

#include "common/source/processes-internal.h"

void processes_count_refused(struct refused_processes *refused,
			     const struct tracked_process *process)
{
	if (refused->n++)
		return;
	refused->first_pid = process->pid;
	snprintf(refused->first_name, sizeof(refused->first_name), "%s", process->name);
}

static void warn_of(struct stage *stage, const struct refused_processes *refused, const char *text)
{
	if (refused->n)
		stage_warn(stage, "%" PRIu64 " processes ('%s', %" PRIu32 ", was the first) %s",
			   refused->n, refused->first_name, refused->first_pid, text);
}

void processes_warn_of_refused(const struct processes *processes)
{
	warn_of(processes->stage, &processes->over_budget,
		"mapped code, or changed their names, too often for each time to be told: their "
		"stacks end with mappings-lost");
	warn_of(processes->stage, &processes->over_limit,
		"have more code mapped than is kept: their stacks end with mapping-limit");
}
