/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of processes that are recorded (-p) and that have not been switched since the recording
 * began: of these the kernel tells nothing. Who asks what a process waits for that hangs means
 * them.
 */
#pragma once

#include <sys/types.h>

#include "perf-source/off-cpu/off-cpu.h"

/*
 * At the end, before off_cpu_finish(): each is known to it from now on, as one that has run or was
 * away all the time. Says in what system calls those are that were away.
 */
void silent_threads_find(struct stage *stage, struct off_cpu *off_cpu, const pid_t *pids,
			 size_t n_pids);
