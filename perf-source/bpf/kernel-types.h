/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fields of the kernel's structures that BPF programs read. Offsets here do not count: libbpf
 * takes those of the running kernel from its type information (CO-RE).
 */
#pragma once

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

enum { PID_SHIFT = 32 }; /* in bpf_get_current_pid_tgid(): the PID is above the TID */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	uint64_t sum_exec_runtime; /* CPU time */
};

struct mm_struct {
	uint64_t start_stack; /* where the stack of the first thread began */
};

struct vm_area_struct {
	uint64_t vm_end;
};

struct thread_struct {
	uint64_t fsbase; /* x86-64: the thread pointer */
};

struct task_struct {
	int pid, tgid; /* TID and PID */
	void *stack;   /* in the kernel: its lowest address */
	uint64_t start_time;
	struct sched_entity se;
	struct mm_struct *mm; /* NULL: a kernel thread */
	struct thread_struct thread;
};

/* What follows ___ is no part of the kernel's name: user space has another struct pt_regs. */
struct pt_regs___kernel {
	uint64_t di, si, dx, r8; /* x86-64: arguments of a system call */
	long orig_ax;		 /* x86-64: not negative in a system call */
	uint64_t bp, ip, sp, ax, bx, cx, r9, r10, r11, r12, r13, r14, r15;
};

#pragma clang attribute pop
