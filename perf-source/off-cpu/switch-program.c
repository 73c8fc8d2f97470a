/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "perf-source/bpf/btf.h"
#include "perf-source/bpf/pid-namespace.h"
#include "perf-source/off-cpu/switch-code.h"

enum {
	VISITS_MAX = 2 * SWITCH_THREADS_MAX, /* bpf_map_next() begins anew if a key was deleted */
};

static const struct {
	const char *tracepoint;
	void (*put)(struct bpf_code *code, const struct switch_program *program);
} programs[SWITCH_PROGRAMS] = {
	{ "sched_switch", switch_code_switch },	    { "sched_process_fork", switch_code_fork },
	{ "sched_process_exec", switch_code_exec }, { "sched_process_exit", switch_code_exit },
	{ "sched_waking", switch_code_waking },
};

static int find_fields(struct switch_program *program)
{
	uint32_t entity_offset, runtime_offset;
	int r = btf_find_field("task_struct", "start_time", &program->start_offset);

	if (r == 0)
		r = btf_find_field("task_struct", "se", &entity_offset);
	if (r == 0)
		r = btf_find_field("sched_entity", "sum_exec_runtime", &runtime_offset);
	if (r == 0)
		r = btf_find_field("task_struct", "stack", &program->stack_offset);
	if (r == 0)
		r = btf_find_pids(&program->pid_offset);
	if (r == 0)
		program->runtime_offset = entity_offset + runtime_offset;
	if (r == 0 && btf_find_field("pt_regs", "orig_ax", &program->call_offset) < 0)
		program->call_offset = 0;
	return r;
}

static int make_map(enum bpf_map_type type, uint32_t value_size, uint32_t n_max, int *ret)
{
	*ret = bpf_make_map(type, sizeof(uint32_t), value_size, n_max);
	return *ret < 0 ? *ret : 0;
}

static int make_settings(struct switch_program *program)
{
	void *settings = NULL;

	program->settings_fd = bpf_make_shared_item(sizeof(*program->settings), &settings);
	program->settings = settings;
	return program->settings_fd < 0 ? program->settings_fd : 0;
}

static int make_maps(struct switch_program *program, size_t n_cpus)
{
	int r = make_map(BPF_MAP_TYPE_HASH, sizeof(struct switch_thread), SWITCH_THREADS_MAX,
			 &program->threads_fd);

	if (r == 0)
		r = make_settings(program);
	if (r == 0)
		r = make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, sizeof(int), n_cpus,
			     &program->stacks_fd);
	return r < 0 ? r
		     : make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, sizeof(int), n_cpus,
				&program->events_fd);
}

static int load(struct switch_program *program)
{
	for (size_t i = 0; i < SWITCH_PROGRAMS; i++) {
		struct bpf_code code = { .n = 0 };

		programs[i].put(&code, program);
		program->fds[i] = bpf_load_program(&code, BPF_PROG_TYPE_RAW_TRACEPOINT);
		if (program->fds[i] < 0)
			return program->fds[i];
		program->n = i + 1;
	}
	return 0;
}

int switch_program_init(struct switch_program *program, size_t n_cpus)
{
	int r;

	*program = (struct switch_program){ -1, -1, -1, -1 };
	if (!pid_namespace_is_initial())
		return -EOPNOTSUPP;
	r = find_fields(program);
	if (r == 0)
		r = make_maps(program, n_cpus);
	if (r == 0)
		r = load(program);
	if (r < 0)
		switch_program_deinit(program);
	return r;
}

void switch_program_deinit(struct switch_program *program)
{
	switch_program_stop(program);
	for (size_t i = 0; i < program->n; i++)
		close(program->fds[i]);
	cleanup_fd(&program->threads_fd);
	bpf_unshare_item(program->settings, sizeof(*program->settings));
	cleanup_fd(&program->settings_fd);
	cleanup_fd(&program->stacks_fd);
	cleanup_fd(&program->events_fd);
	*program = (struct switch_program){ -1, -1, -1, -1 };
}

int switch_program_set_output(struct switch_program *program, uint32_t cpu, int stacks_event,
			      int events_event)
{
	int r = bpf_map_set(program->stacks_fd, &cpu, &stacks_event);

	return r < 0 ? r : bpf_map_set(program->events_fd, &cpu, &events_event);
}

/* Attaches sched_switch last: a thread that is unknown there existed before. */
int switch_program_start(struct switch_program *program, uint64_t begun, uint64_t threshold_ns)
{
	*program->settings = (struct switch_settings){ begun, threshold_ns };
	for (size_t i = program->n; i > 0; i--) {
		int fd = bpf_attach(program->fds[i - 1], programs[i - 1].tracepoint);
		if (fd < 0)
			return fd;
		program->attached_fds[program->n_attached++] = fd;
	}
	return 0;
}

void switch_program_stop(struct switch_program *program)
{
	for (size_t i = 0; i < program->n_attached; i++)
		close(program->attached_fds[i]);
	program->n_attached = 0;
}

void switch_program_count(const struct switch_program *program, uint64_t *ret_refused,
			  uint64_t *ret_contradictions)
{
	*ret_refused = __atomic_load_n(&program->settings->n_refused, __ATOMIC_RELAXED);
	*ret_contradictions =
		__atomic_load_n(&program->settings->n_contradictions, __ATOMIC_RELAXED);
}

void switch_program_set_threshold(struct switch_program *program, uint64_t threshold_ns)
{
	__atomic_store_n(&program->settings->threshold_ns, threshold_ns, __ATOMIC_RELAXED);
}

void switch_program_forget(struct switch_program *program, uint32_t tid)
{
	bpf_map_delete(program->threads_fd, &tid);
}

/* Gets the next key before it calls `each`, which may delete this one. */
int switch_program_each(struct switch_program *program,
			int (*each)(uint32_t tid, const struct switch_thread *thread, void *arg),
			void *arg)
{
	struct switch_thread thread;
	uint32_t tid, next;
	int r = 0, has_next = bpf_map_next(program->threads_fd, NULL, &next);

	for (size_t i = 0; has_next == 0 && i < VISITS_MAX; i++) {
		tid = next;
		has_next = bpf_map_next(program->threads_fd, &tid, &next);
		if (bpf_map_get(program->threads_fd, &tid, &thread) == 0)
			r = each(tid, &thread, arg);
		if (r < 0)
			return r;
	}
	if (has_next == 0)
		return SWITCH_LOOK_CUT;
	return has_next == -ENOENT ? 0 : has_next;
}
