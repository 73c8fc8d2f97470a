/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits: how long a thread was off the CPU, and with which stack it was switched out.
 *
 * With -a, a BPF program pairs waits in the kernel (switch-program.h). Otherwise the kernel emits a
 * small record of each switch, out and in (PERF_RECORD_SWITCH…), and samples threads as they are
 * switched out (the event context-switches). Stacks have rings of their own: a stack that finds no
 * room costs its wait the stack, but times are still exact. When a thread is switched in, its wait
 * is emitted as a sample of that time, which weighs the nanoseconds of the wait. Waits below a
 * threshold are sampled (wait-threshold.h); the rest of their time, and waits without a stack, are
 * summed by thread.
 *
 * The waker that ends a wait is recorded, too: a wake-up is a sample of its stack, of another
 * event.
 *
 * off_cpu->backend takes records in time order. A stack stays where the kernel put it until
 * off_cpu_keep(), which copies only the few that are still needed.
 */
#pragma once

#include "perf-source/off-cpu/wait-backend.h"

/* All return 0 or -errno. What was before `time` does not count. */
int off_cpu_begin(struct off_cpu *off_cpu, uint64_t time);

/* Adapts the threshold and, every OFF_CPU_EMIT_NS, emits the sums. */
int off_cpu_emit_sums(struct off_cpu *off_cpu, uint64_t time);

/* To be called when the recording and the BPF program have stopped. */
int off_cpu_finish(struct off_cpu *off_cpu, uint64_t time);
