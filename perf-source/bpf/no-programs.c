/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands for all BPF programs in a build without them: none can be loaded. */
#include <errno.h>

#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/follow-program.h"
#include "perf-source/bpf/sample-program.h"
#include "perf-source/bpf/switch-program.h"
#include "perf-source/bpf/unwind-program.h"

int context_program_init(struct context_program *program, uint32_t walks_max)
{
	*program = (struct context_program){ 0 };
	return -ENOSYS;
}

void context_program_deinit(struct context_program *program)
{
}

int context_program_expect(const struct context_program *program, uint32_t pid)
{
	return -ENOSYS;
}

int context_program_expect_walk(const struct context_program *program, uint32_t pid)
{
	return -ENOSYS;
}

int context_program_set(const struct context_program *program, uint32_t pid,
			const struct context_place *place)
{
	return -ENOSYS;
}

int context_program_set_walk(const struct context_program *program, uint32_t pid,
			     const struct walk_program *walk)
{
	return -ENOSYS;
}

bool context_program_take(struct context_program *program, uint32_t *ret_pid, uint64_t *ret_address)
{
	return false;
}

uint64_t context_program_count_refused(const struct context_program *program)
{
	return 0;
}

uint64_t context_program_count_refused_walks(const struct context_program *program)
{
	return 0;
}

int follow_program_init(struct follow_program *program)
{
	*program = (struct follow_program){ 0 };
	return -ENOSYS;
}

void follow_program_deinit(struct follow_program *program)
{
}

int follow_program_add(const struct follow_program *program, uint32_t pid)
{
	return -ENOSYS;
}

uint64_t follow_program_count_refused(const struct follow_program *program)
{
	return 0;
}

int sample_program_load(struct sample_program *program, const struct sample_settings *settings)
{
	*program = (struct sample_program){ 0 };
	return -ENOSYS;
}

int sample_program_set_output(const struct sample_program *program, uint32_t cpu, int event)
{
	return -ENOSYS;
}

struct ring_share *sample_program_share(const struct sample_program *program)
{
	return NULL;
}

void sample_program_unload(struct sample_program *program)
{
}

int sample_program_fd(const struct sample_program *program)
{
	return -1;
}

uint64_t sample_program_count_skipped(const struct sample_program *program)
{
	return 0;
}

int switch_program_init(struct switch_program *program,
			const struct switch_program_settings *settings)
{
	*program = (struct switch_program){ 0 };
	return -ENOSYS;
}

void switch_program_deinit(struct switch_program *program)
{
}

int switch_program_set_parts_output(struct switch_program *program, uint32_t cpu, int event)
{
	return -ENOSYS;
}

struct ring_share *switch_program_share(const struct switch_program *program)
{
	return NULL;
}

int switch_program_set_output(struct switch_program *program, uint32_t cpu, int stacks_event,
			      int events_event)
{
	return -ENOSYS;
}

int switch_program_start(struct switch_program *program, uint64_t begun, uint64_t threshold_ns)
{
	return -ENOSYS;
}

void switch_program_stop(struct switch_program *program)
{
}

void switch_program_set_threshold(struct switch_program *program, uint64_t threshold_ns)
{
}

void switch_program_forget(struct switch_program *program, uint32_t tid)
{
}

int switch_program_each(struct switch_program *program,
			int (*each)(uint32_t tid, const struct switch_thread *thread, void *arg),
			void *arg)
{
	return -ENOSYS;
}

void switch_program_count(const struct switch_program *program, uint64_t *ret_refused,
			  uint64_t *ret_contradictions)
{
	*ret_refused = *ret_contradictions = 0;
}

int unwind_program_open(struct unwind_program *unwind, const struct sample_program *program)
{
	return -ENOSYS;
}

void unwind_program_close(struct unwind_program *unwind)
{
}

int unwind_program_set(const struct unwind_program *unwind, uint32_t pid,
		       const struct unwind_process *process)
{
	return -ENOSYS;
}

void unwind_program_remove(const struct unwind_program *unwind, uint32_t pid)
{
}

int unwind_program_add_table(const struct unwind_program *unwind, uint32_t image, const void *bytes,
			     size_t size)
{
	return -ENOSYS;
}

void unwind_program_remove_table(const struct unwind_program *unwind, uint32_t image)
{
}

uint64_t unwind_program_count_left(const struct sample_program *program, enum unwind_left why)
{
	return 0;
}
