/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "perf-source/bpf/bpf.h"
#include "perf-source/bpf/btf.h"
#include "perf-source/bpf/pid-namespace.h"
#include "perf-source/follow-program.h"

enum {
	CONTEXT = 6, /* registers */
	CHILD = 7,

	OURS = -8, /* on the stack: current PID, another task's PID, its TID and PID, a value */
	OTHER = -16,
	TASK = -24,
	VALUE = -32,

	WORD = 8,
	PID_SHIFT = 32,
	FORK_CHILD = WORD, /* offsets of arguments: sched_process_fork, sched_process_free */
	FREE_TASK = 0,
};

/* Reads a task's TID and, above it, PID into TASK; the PID also into CHILD and OTHER. */
static void put_read_task(struct bpf_code *code, const struct follow_program *program,
			  int16_t argument)
{
	bpf_copy(code, 1, BPF_STACK_REGISTER);
	bpf_do_value(code, BPF_ADD, 1, TASK);
	bpf_set(code, 2, WORD);
	bpf_load(code, BPF_WIDTH_8, 3, CONTEXT, argument);
	bpf_do_value(code, BPF_ADD, 3, program->pid_offset);
	bpf_call(code, BPF_FUNC_probe_read_kernel);
	bpf_load(code, BPF_WIDTH_8, CHILD, BPF_STACK_REGISTER, TASK);
	bpf_do_value(code, BPF_RSH, CHILD, PID_SHIFT);
	bpf_store(code, BPF_WIDTH_4, BPF_STACK_REGISTER, OTHER, CHILD);
}

static void put_return(struct bpf_code *code)
{
	bpf_set(code, 0, 0);
	bpf_exit(code);
}

/* A child is followed if its parent is; an earlier process with its PID does not count. */
static void put_fork(struct bpf_code *code, const struct follow_program *program)
{
	size_t is_thread, is_followed, fits;

	bpf_copy(code, CONTEXT, 1);
	bpf_call(code, BPF_FUNC_get_current_pid_tgid);
	bpf_do_value(code, BPF_RSH, 0, PID_SHIFT);
	bpf_store(code, BPF_WIDTH_4, BPF_STACK_REGISTER, OURS, 0);
	put_read_task(code, program, FORK_CHILD);
	bpf_load(code, BPF_WIDTH_4, 1, BPF_STACK_REGISTER, OURS);
	is_thread = bpf_jump_if(code, BPF_JEQ, 1, CHILD);
	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, program->pids_fd, OURS);
	is_followed = bpf_jump_if_value(code, BPF_JNE, 0, 0);
	bpf_ask_map(code, BPF_FUNC_map_delete_elem, program->pids_fd, OTHER);
	bpf_land(code, is_thread);
	put_return(code);

	bpf_land(code, is_followed);
	bpf_set(code, 1, 1);
	bpf_store(code, BPF_WIDTH_8, BPF_STACK_REGISTER, VALUE, 1);
	bpf_copy(code, 3, BPF_STACK_REGISTER);
	bpf_do_value(code, BPF_ADD, 3, VALUE);
	bpf_set(code, 4, BPF_ANY);
	bpf_ask_map(code, BPF_FUNC_map_update_elem, program->pids_fd, OTHER);
	fits = bpf_jump_if_value(code, BPF_JEQ, 0, 0);
	bpf_count_in_map(code, program->refused_fd, VALUE);
	bpf_land(code, fits);
	put_return(code);
}

/* The first thread of a process is freed last. */
static void put_free(struct bpf_code *code, const struct follow_program *program)
{
	size_t is_other;

	bpf_copy(code, CONTEXT, 1);
	put_read_task(code, program, FREE_TASK);
	bpf_load(code, BPF_WIDTH_4, 1, BPF_STACK_REGISTER, TASK);
	is_other = bpf_jump_if(code, BPF_JNE, 1, CHILD);
	bpf_ask_map(code, BPF_FUNC_map_delete_elem, program->pids_fd, OTHER);
	bpf_land(code, is_other);
	put_return(code);
}

static const struct {
	const char *tracepoint;
	void (*put)(struct bpf_code *code, const struct follow_program *program);
} programs[FOLLOW_PROGRAMS] = {
	{ "sched_process_fork", put_fork },
	{ "sched_process_free", put_free },
};

static int make_maps(struct follow_program *program)
{
	program->pids_fd = bpf_make_map(BPF_MAP_TYPE_HASH, sizeof(uint32_t), sizeof(uint64_t),
					FOLLOW_PROCESSES_MAX);
	if (program->pids_fd < 0)
		return program->pids_fd;
	program->refused_fd = bpf_make_counter();
	return program->refused_fd < 0 ? program->refused_fd : 0;
}

static int start(struct follow_program *program)
{
	for (size_t i = 0; i < FOLLOW_PROGRAMS; i++) {
		struct bpf_code code = { .n = 0 };
		int fd;

		programs[i].put(&code, program);
		fd = bpf_load_program(&code, BPF_PROG_TYPE_RAW_TRACEPOINT);
		if (fd < 0)
			return fd;
		program->fds[program->n++] = fd;
		fd = bpf_attach(fd, programs[i].tracepoint);
		if (fd < 0)
			return fd;
		program->attached_fds[program->n_attached++] = fd;
	}
	return 0;
}

int follow_program_init(struct follow_program *program)
{
	int r;

	*program = (struct follow_program){ -1, -1 };
	if (!pid_namespace_is_initial())
		return -EOPNOTSUPP;
	r = btf_find_pids(&program->pid_offset);
	if (r == 0)
		r = make_maps(program);
	if (r == 0)
		r = start(program);
	if (r < 0)
		follow_program_deinit(program);
	return r;
}

void follow_program_deinit(struct follow_program *program)
{
	for (size_t i = 0; i < program->n_attached; i++)
		close(program->attached_fds[i]);
	for (size_t i = 0; i < program->n; i++)
		close(program->fds[i]);
	cleanup_fd(&program->pids_fd);
	cleanup_fd(&program->refused_fd);
	*program = (struct follow_program){ -1, -1 };
}

int follow_program_add(const struct follow_program *program, uint32_t pid)
{
	return bpf_map_set(program->pids_fd, &pid, &(uint64_t){ 1 });
}

uint64_t follow_program_count_refused(const struct follow_program *program)
{
	return bpf_read_counter(program->refused_fd);
}
