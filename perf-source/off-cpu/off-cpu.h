/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits: how long a thread was away from the CPU, and with which stack it had left.
 *
 * Of all tasks, waits are paired in the kernel (switch-program.h); elsewhere it tells of each
 * switch, out and in, in a small record (PERF_RECORD_SWITCH…), and takes a sample of who is
 * switched out (the event context-switches). Stacks and the rest have rings of their own: a stack
 * that finds no room costs that wait its stack, but time is still exact. When a thread comes back,
 * its wait is emitted as a sample that weighs the nanoseconds it was away, at the time when it came
 * back. Waits below a threshold are sampled (wait-threshold.h); what is left of them, and those
 * without a stack, are summed, a thread at a time.
 *
 * The thread that ends a wait, by waking the other one, is known too, and what it did then: a
 * wakeup is a sample of it, of an event of its own.
 *
 * Events are given in the order of their times, to off_cpu->backend. A stack stays where the kernel
 * has put it until off_cpu_keep(): only the few that are still needed then are copied.
 */
#pragma once

#include "perf-source/off-cpu/wait-backend.h"

/* All return 0 or -errno. What was before the beginning does not count. */
int off_cpu_begin(struct off_cpu *off_cpu, uint64_t time);

/* Every OFF_CPU_EMIT_NS, emits what was summed. */
int off_cpu_emit_sums(struct off_cpu *off_cpu, uint64_t time);

/* The recording is over, and so is the program in the kernel. */
int off_cpu_finish(struct off_cpu *off_cpu, uint64_t time);
