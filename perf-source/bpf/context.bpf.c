/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watches for processes that publish a context (OTEP 4719): they name the mapping that holds it, at
 * first and after each change. And forgets where threads have theirs, and the walk program, when
 * their process ends or executes another program, before its first instruction. A child of a
 * process has its parent's walk program, as it has its memory.
 */
#include "perf-source/bpf/kernel-types.h"

#include "perf-source/bpf/read-context.h"
#include "perf-source/bpf/read-walk.h"

#include <linux/prctl.h>

char gpl[] SEC("license") = "GPL";

/* How often a mapping was named, and how often that was not noted, as too many waited. */
uint64_t n_named, n_refused;
uint64_t n_walks_refused; /* children without their parent's walk program: there were too many */

struct context_places context_places SEC(".maps");
struct walk_programs walk_programs SEC(".maps");
struct walk_seen walk_seen SEC(".maps");

/* Addresses of mappings that were named, by PID, until somebody looks. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONTEXT_PLACES_MAX);
	__type(key, uint32_t);
	__type(value, uint64_t);
} named SEC(".maps");

/* Whether it is the name of such a mapping; true if it is not in memory. */
static __always_inline bool is_context(uint64_t name)
{
	static const char wanted[] = "OTEL_CTX";
	char text[sizeof(wanted)] = { 0 };

	if (bpf_probe_read_user(text, sizeof(text), (const void *)name))
		return true;
	for (size_t i = 0; i < sizeof(wanted); i++)
		if (text[i] != wanted[i])
			return false;
	return true;
}

/* prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, address, size, name): registers of the system call. */
SEC("fentry/__x64_sys_prctl")
int BPF_PROG(at_prctl, const struct pt_regs___kernel *registers)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT;
	uint64_t address = registers->dx;

	if (registers->di != PR_SET_VMA || registers->si != PR_SET_VMA_ANON_NAME ||
	    !is_context(registers->r8))
		return 0;
	if (bpf_map_update_elem(&named, &pid, &address, BPF_ANY))
		__sync_fetch_and_add(&n_refused, 1);
	else
		__sync_fetch_and_add(&n_named, 1);
	return 0;
}

static __always_inline void forget(uint32_t pid)
{
	bpf_map_delete_elem(&context_places, &pid);
	bpf_map_delete_elem(&walk_programs, &pid);
	bpf_map_delete_elem(&named, &pid);
}

/* The child's memory is not the parent's; if it is (vfork), the first look says so. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(at_fork, struct task_struct *parent, struct task_struct *child)
{
	uint32_t pid = parent->tgid, child_pid = child->tgid;
	const struct walk_program *program;
	struct walk_program *copy;

	if (child_pid == pid)
		return 0;
	program = bpf_map_lookup_elem(&walk_programs, &pid);
	if (!program)
		return 0;
	if (bpf_map_update_elem(&walk_programs, &child_pid, program, BPF_ANY)) {
		__sync_fetch_and_add(&n_walks_refused, 1);
		return 0;
	}
	copy = bpf_map_lookup_elem(&walk_programs, &child_pid);
	if (!copy)
		return 0;
	copy->memory = 0;
	copy->incarnation = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(at_exec, struct task_struct *task)
{
	forget(task->tgid);
	return 0;
}

/* The first thread of a process is freed last. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(at_free, struct task_struct *task)
{
	if (task->pid == task->tgid)
		forget(task->tgid);
	return 0;
}
