/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program instruction by instruction, and makes a sample at each of them: a stream as
 * perf-source writes it. Beside it goes the truth, a line of text for each sample: the chain of
 * calls, of which no unwind information was asked (shadow-stack.h).
 *
 * It begins where nobody has called anything yet, so that all of the chain is known. With
 * --interpreter it begins where the program stops itself, and samples have what its interpreter
 * executes: names of functions tell the truth then, and the file stays empty.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/source/host-files.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "tests/steps/instruction.h"
#include "tests/steps/shadow-stack.h"
#include "tests/steps/tracee.h"
#include "tests/steps/walk-reader.h"

enum {
	STACK_SIZE = 32768, /* of a sample: perf-source's default */
	STACKS_SIZE = 64 * STACK_SIZE,
	STACK_TOP_SIZE = 1024, /* what following a step needs of it: a signal's frame */
	THREADS_MAX = 64,
	DECODED_CACHED = 65536, /* a power of two */
	SYSCALL_MMAP = 9,	/* what may change the executable mappings */
	SYSCALL_MPROTECT = 10,
	SYSCALL_MUNMAP = 11,
	SYSCALL_SIGRETURN = 15,
};

struct thread {
	pid_t tid;			   /* 0: none */
	struct user_regs_struct registers; /* at its last stop */
	bool has_stopped;
	bool is_signalled; /* it was sent on with a signal */
	struct shadow_stack shadow;
};

struct decoded {
	uint64_t address;
	enum instruction instruction; /* 0: nothing is here */
};

struct single_step {
	const char *truth_path;
	uint64_t every, samples_max; /* one of `every` steps is a sample */
	bool from_exec, has_interpreter;
	char **command;
	FILE *truth;
	pid_t pid;
	struct thread threads[THREADS_MAX];
	struct images images;
	struct processes processes;
	struct walk_reader walks;
	uint64_t n_steps;
	char *stacks; /* that the writer borrows until it is flushed */
	size_t stacks_used;
	struct decoded decoded[DECODED_CACHED];
};

static enum instruction decode(struct single_step *self, uint64_t address)
{
	struct decoded *decoded = &self->decoded[address & (DECODED_CACHED - 1)];
	uint8_t bytes[INSTRUCTION_MAX];
	size_t size;

	if (!decoded->instruction || decoded->address != address) {
		size = tracee_read(self->pid, address, bytes, sizeof(bytes));
		decoded->address = address;
		decoded->instruction = instruction_decode(bytes, size);
	}
	return decoded->instruction;
}

/* Room for one more stack. */
static int make_room(struct stage *stage, struct single_step *self)
{
	int r;

	if (self->stacks_used + STACK_SIZE <= STACKS_SIZE)
		return 0;
	r = wire_writer_flush(&stage->writer);
	self->stacks_used = 0;
	return r;
}

static struct wire_addrs sampled(const struct user_regs_struct *registers, uint64_t *ret)
{
	const uint64_t list[] = {
		registers->rax, registers->rbx, registers->rcx, registers->rdx, registers->rsi,
		registers->rdi, registers->rbp, registers->rsp, registers->rip, registers->r8,
		registers->r9,	registers->r10, registers->r11, registers->r12, registers->r13,
		registers->r14, registers->r15,
	};

	memcpy(ret, list, sizeof(list));
	return (struct wire_addrs){ ret, sizeof(list) / sizeof(list[0]) };
}

static int put_sample(struct stage *stage, struct single_step *self, const struct thread *thread,
		      const struct shadow_place *place)
{
	uint64_t registers[ARCH_REGISTERS_MAX];
	struct wire_sample sample = {
		.time = stage->last_time,
		.tid = thread->tid,
		.weight = 1,
		.address = place->pc,
		.abi = 2,
		.registers = sampled(&thread->registers, registers),
		.stack = { place->stack, place->stack_size },
	};
	int r = processes_of_sample(&self->processes, self->pid, place->pc, stage->last_time,
				    &sample.process);

	if (r == 0 && self->has_interpreter)
		r = walk_reader_read(&self->walks, stage, &thread->registers, &sample);
	if (r < 0)
		return r;
	if (!self->has_interpreter)
		shadow_stack_print(&thread->shadow, place, self->truth);
	self->stacks_used += (place->stack_size + 7) / 8 * 8;
	stage->samples_in++;
	return stage_put(stage, WIRE_RECORD_sample, &sample);
}

static int take_syscall(struct stage *stage, struct single_step *self, struct thread *thread,
			uint64_t number, const struct shadow_place *now)
{
	switch (number) {
	case SYSCALL_SIGRETURN:
		shadow_stack_sigreturn(&thread->shadow, now);
		return 0;
	case SYSCALL_MMAP:
	case SYSCALL_MPROTECT:
	case SYSCALL_MUNMAP:
		memset(self->decoded, 0, sizeof(self->decoded));
		return processes_read_all_again(&self->processes, stage->last_time);
	default:
		return 0;
	}
}

/* What the instruction that was executed before this stop has done. */
static int follow(struct stage *stage, struct single_step *self, struct thread *thread,
		  const struct user_regs_struct *before, const struct shadow_place *now)
{
	enum instruction instruction;
	int r;

	if (thread->is_signalled) {
		r = shadow_stack_signal(&thread->shadow, before->rip, before->rsp, now);
		if (r)
			return r < 0 ? r : 0;
	}
	instruction = decode(self, before->rip);
	if (instruction == INSTRUCTION_SYSCALL)
		return take_syscall(stage, self, thread, before->rax, now);
	return shadow_stack_step(&thread->shadow, instruction, before->rsp, now);
}

/* A thread has come to another instruction. */
static int arrive(struct stage *stage, struct single_step *self, struct thread *thread)
{
	struct user_regs_struct before = thread->registers;
	bool is_sampled = self->n_steps++ % self->every == 0;
	struct shadow_place now;
	int r = tracee_registers(thread->tid, &thread->registers);

	if (r == 0)
		r = make_room(stage, self);
	if (r < 0)
		return r;
	now = (struct shadow_place){
		.pc = thread->registers.rip,
		.sp = thread->registers.rsp,
		.stack = self->stacks + self->stacks_used,
	};
	now.stack_size = tracee_read(self->pid, now.sp, self->stacks + self->stacks_used,
				     is_sampled ? STACK_SIZE : STACK_TOP_SIZE);
	stage->last_time = clock_now(CLOCK_MONOTONIC);
	if (thread->has_stopped && !self->has_interpreter)
		r = follow(stage, self, thread, &before, &now);
	thread->has_stopped = true;
	thread->is_signalled = false;
	if (r < 0 || !is_sampled)
		return r;
	return put_sample(stage, self, thread, &now);
}

/* The thread of that number, a new one if need be; NULL: there are too many. */
static struct thread *find_thread(struct single_step *self, pid_t tid)
{
	struct thread *free = NULL;

	for (size_t i = 0; i < THREADS_MAX; i++) {
		if (self->threads[i].tid == tid)
			return &self->threads[i];
		if (!self->threads[i].tid && !free)
			free = &self->threads[i];
	}
	if (free)
		free->tid = tid;
	return free;
}

static void forget_thread(struct stage *stage, struct thread *thread)
{
	*counters_get(&stage->counters, "steps", "unmatched-returns") += thread->shadow.n_unmatched;
	shadow_stack_deinit(&thread->shadow);
	*thread = (struct thread){ 0 };
}

/* A thread has stopped: looks at it, and sends it on. */
static int take_stop(struct stage *stage, struct single_step *self, pid_t tid, int status)
{
	struct thread *thread = find_thread(self, tid);
	bool is_event = status >> 16, is_new = thread && !thread->has_stopped;
	int signal = WSTOPSIG(status), r = 0;

	if (!thread)
		return -EMFILE;
	if (is_new || (signal == SIGTRAP && !is_event))
		r = arrive(stage, self, thread);
	else if (!is_event)
		thread->is_signalled = true;
	if (r < 0)
		return r;
	r = tracee_step(tid, thread->is_signalled ? signal : 0);
	return r == -ESRCH ? 0 : r; /* the end of the process will be told */
}

static int step_on(struct stage *stage, struct single_step *self)
{
	pid_t tid;
	int r = 0, status;

	while (r == 0 && stage->samples_in < self->samples_max && !stage_should_stop()) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			return errno == ECHILD || errno == EINTR ? 0 : -errno;
		if (WIFSTOPPED(status))
			r = take_stop(stage, self, tid, status);
		else
			forget_thread(stage, find_thread(self, tid));
	}
	return r;
}

static int run(struct stage *stage, void *data)
{
	struct single_step *self = data;
	struct thread *thread = find_thread(self, self->pid);
	int r;

	images_init(&self->images, stage, -1);
	processes_init(&self->processes, stage, &self->images);
	r = host_files_put(stage, stage->last_time);
	if (r == 0)
		r = processes_scan(&self->processes, self->pid, stage->last_time);
	if (r == 0 && self->has_interpreter)
		r = walk_reader_begin(&self->walks, &self->processes, self->pid, stage->last_time);
	if (r == 0)
		r = arrive(stage, self, thread);
	if (r == 0)
		r = tracee_step(self->pid, 0);
	if (r == 0)
		r = step_on(stage, self);
	kill(self->pid, SIGKILL);
	*counters_get(&stage->counters, "steps", "all") += self->n_steps;
	for (size_t i = 0; i < THREADS_MAX; i++)
		forget_thread(stage, &self->threads[i]);
	if (r == 0 && (fflush(self->truth) || ferror(self->truth)))
		r = -EIO;
	stage->end_time = stage->last_time;
	return r;
}

/* Two that take turns wake each other faster on one CPU: a step takes a quarter of the time. */
static void stay_on_this_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void fill_hello(const struct stage *stage, struct wire_hello *hello)
{
	hello->clock = WIRE_clock_MONOTONIC;
	hello->start_time = stage->last_time;
	hello->start_unix_time = clock_now(CLOCK_REALTIME);
	hello->stack_size = STACK_SIZE;
	hello->register_mask = arch_host()->register_mask;
	hello->machine = arch_host()->elf_machine;
	hello->n_cpus = 1;
	strcpy(hello->event, "single-step");
	if (gethostname(hello->host, sizeof(hello->host) - 1) < 0)
		hello->host[0] = 0;
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct single_step *self = data;
	int r;

	self->stacks = malloc(STACKS_SIZE);
	self->truth = fopen(self->truth_path, "we");
	if (!self->stacks || !self->truth)
		return -errno;
	stay_on_this_cpu();
	r = tracee_start(self->command, &self->pid);
	if (r == 0 && self->has_interpreter)
		r = tracee_run_to_stop(self->pid);
	else if (r == 0 && !self->from_exec)
		r = tracee_run_to_entry(self->pid);
	stage->last_time = clock_now(CLOCK_MONOTONIC);
	fill_hello(stage, hello);
	return r;
}

static void init(void *data)
{
	struct single_step *self = data;

	self->every = 1;
	self->samples_max = UINT64_MAX;
	self->images.server_fd = -1;
}

static void deinit(void *data)
{
	struct single_step *self = data;

	if (self->pid > 0)
		kill(self->pid, SIGKILL);
	if (self->truth)
		fclose(self->truth);
	walk_reader_deinit(&self->walks);
	processes_deinit(&self->processes);
	images_deinit(&self->images);
	free(self->stacks);
}

static const struct argp_option option_table[] = {
	{ "truth", 't', "FILE", 0, "Where the true chains go, a line for each sample", 0 },
	{ "every", 'n', "STEPS", 0, "Sample one of so many instructions (1: all)", 0 },
	{ "max", 'm', "SAMPLES", 0, "Stop after so many", 0 },
	{ "interpreter", 'i', NULL, 0,
	  "Begin where the program stops itself, and read lists of CPython", 0 },
	{ "from-exec", 'x', NULL, 0, "Begin in the dynamic linker, not in the program", 0 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct single_step *self = state->input;

	switch (key) {
	case 't':
		self->truth_path = arg;
		return 0;
	case 'n':
		self->every = strtoull(arg, NULL, 10);
		return self->every ? 0 : EINVAL;
	case 'm':
		self->samples_max = strtoull(arg, NULL, 10);
		return 0;
	case 'i':
		self->has_interpreter = true;
		return 0;
	case 'x':
		self->from_exec = true;
		return 0;
	case ARGP_KEY_ARGS:
		self->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!self->truth_path || !self->command)
			stage_usage_error(state, "a file for the truth and a command are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "single-step",
		.arguments = "-- COMMAND ARG…",
		.summary = "Samples a program at every instruction, and tells the true chains.",
		.role = STAGE_SOURCE,
		.self_size = sizeof(struct single_step),
		.options = option_table,
		.parse_option = parse_option,
		.init = init,
		.start = start,
		.run = run,
		.deinit = deinit,
	};

	return stage_main(argc, argv, &program);
}
