/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps a set of followed PIDs (follow-program.h). */
#include "perf-source/bpf/kernel-types.h"

#include "perf-source/bpf/followed-set.h"

char gpl[] SEC("license") = "GPL";

uint64_t n_refused;

struct followed_set followed SEC(".maps");

/* A child is followed if its parent is; an earlier process with its PID does not count. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(at_fork, struct task_struct *parent, struct task_struct *child)
{
	uint32_t ours = bpf_get_current_pid_tgid() >> PID_SHIFT, pid = child->tgid;
	uint64_t value = 1;

	if (pid == ours) /* a thread */
		return 0;
	if (!bpf_map_lookup_elem(&followed, &ours))
		bpf_map_delete_elem(&followed, &pid);
	else if (bpf_map_update_elem(&followed, &pid, &value, BPF_ANY))
		__sync_fetch_and_add(&n_refused, 1);
	return 0;
}

/* The first thread of a process is freed last. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(at_free, struct task_struct *task)
{
	uint32_t pid = task->tgid;

	if (pid == (uint32_t)task->pid)
		bpf_map_delete_elem(&followed, &pid);
	return 0;
}
