/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of recorded processes (-p) that were not switched since the recording began: the kernel
 * reports nothing of these, but they are what a user wants to see of a process that hangs.
 */
#pragma once

#include <sys/types.h>

#include "perf-source/off-cpu/off-cpu.h"

/*
 * To be called before off_cpu_finish(): adds each such thread as one that was running or away all
 * the time, and warns in which system calls those are that were away.
 */
void silent_threads_find(struct stage *stage, struct off_cpu *off_cpu, const pid_t *pids,
			 size_t n_pids);
