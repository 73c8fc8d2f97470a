/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Filters as text and the decisions of their BPF programs: by an interpreter of the instructions
 * they use, for any task, and by the kernel, where permitted, for this task.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf-source/bpf/bpf.h"
#include "perf-source/bpf/pid-namespace.h"
#include "perf-source/perf/sample-filter.h"

enum {
	TEXT_SIZE = 2048,
	REGISTERS = 11,
	STACK_SIZE = 512,
	STEPS_MAX = BPF_CODE_MAX, /* jumps go forward only */
	ANCESTORS = 3,
	ROUNDS = 3000,
	TASKS_A_ROUND = 20,
};

/* The task of a sample. */
struct task {
	uint32_t pid, tid, uid, gid;
	char comm[SAMPLE_FILTER_COMM_SIZE];
	uint64_t cgroups[ANCESTORS]; /* by level; 0: the task is less deep */
	bool is_followed;
};

static struct bpf_code program;	  /* the last one loaded */
static uint64_t n_skipped;	  /* the item of its map */
static bool is_kernel_asked;	  /* otherwise the kernel is not involved */
static enum bpf_prog_type loaded; /* program type at load */

int __real_bpf_make_counter(void);
int __wrap_bpf_make_counter(void);
int __real_bpf_load_program(const struct bpf_code *code, enum bpf_prog_type type);
int __wrap_bpf_load_program(const struct bpf_code *code, enum bpf_prog_type type);
uint64_t __real_bpf_read_counter(int map_fd);
uint64_t __wrap_bpf_read_counter(int map_fd);

int __wrap_bpf_make_counter(void)
{
	if (is_kernel_asked)
		return __real_bpf_make_counter();
	n_skipped = 0;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_bpf_load_program(const struct bpf_code *code, enum bpf_prog_type type)
{
	loaded = type;
	program = *code;
	assert_true(code->n <= BPF_CODE_MAX);
	/* BPF_PROG_TEST_RUN supports few program types; this one runs for the current task. */
	if (is_kernel_asked)
		return __real_bpf_load_program(code, BPF_PROG_TYPE_RAW_TRACEPOINT);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

uint64_t __wrap_bpf_read_counter(int map_fd)
{
	if (map_fd < 0)
		return 0;
	return is_kernel_asked ? __real_bpf_read_counter(map_fd) : n_skipped;
}

/* The interpreter. Addresses are those of this process. */
struct machine {
	const struct task *task;
	int skipped_fd, followed_fd;
	uint64_t registers[REGISTERS];
	_Alignas(8) char stack[STACK_SIZE];
};

static void *memory(struct machine *machine, uint64_t address, size_t size)
{
	uint64_t stack = (uintptr_t)machine->stack;
	bool is_in_stack = address >= stack && address + size <= stack + STACK_SIZE;

	assert_true(is_in_stack || address == (uintptr_t)&n_skipped);
	assert_int_equal(address % size, 0);
	return (void *)(uintptr_t)address;
}

static uint64_t look_up(struct machine *machine)
{
	const uint64_t *registers = machine->registers;
	uint32_t key = *(uint32_t *)memory(machine, registers[2], sizeof(key));

	if ((int)registers[1] == machine->skipped_fd)
		return key == 0 ? (uintptr_t)&n_skipped : 0;
	assert_int_equal(registers[1], machine->followed_fd);
	assert_int_equal(key, machine->task->pid);
	return machine->task->is_followed ? (uintptr_t)&n_skipped : 0;
}

static uint64_t call(struct machine *machine, int function)
{
	const struct task *task = machine->task;
	const uint64_t *registers = machine->registers;

	switch (function) {
	case BPF_FUNC_get_current_pid_tgid:
		return (uint64_t)task->pid << 32 | task->tid;
	case BPF_FUNC_get_current_uid_gid:
		return (uint64_t)task->gid << 32 | task->uid;
	case BPF_FUNC_get_current_comm:
		assert_int_equal(registers[2], sizeof(task->comm));
		memory(machine, registers[1], 8);
		memory(machine, registers[1] + 8, 8);
		memcpy((void *)(uintptr_t)registers[1], task->comm, sizeof(task->comm));
		return 0;
	case BPF_FUNC_get_current_ancestor_cgroup_id:
		return registers[1] < ANCESTORS ? task->cgroups[registers[1]] : 0;
	case BPF_FUNC_map_lookup_elem:
		return look_up(machine);
	default:
		fail_msg("function %d", function);
		return 0;
	}
}

static uint64_t calculate(int operation, uint64_t left, uint64_t right)
{
	switch (operation) {
	case BPF_MOV:
		return right;
	case BPF_ADD:
		return left + right;
	case BPF_LSH:
		return left << right;
	case BPF_RSH:
		return left >> right;
	default:
		fail_msg("operation 0x%x", operation);
		return 0;
	}
}

static bool is_discovered(int condition, uint64_t left, uint64_t right)
{
	assert_true(condition == BPF_JEQ || condition == BPF_JNE || condition == BPF_JA);
	return condition == BPF_JA || (condition == BPF_JEQ) == (left == right);
}

/* A call invalidates all registers but its result and the callee-saved ones. */
static void run_call(struct machine *machine, int function)
{
	machine->registers[0] = call(machine, function);
	for (int i = 1; i <= 5; i++)
		machine->registers[i] = 0xbad0bad0bad0bad0;
}

static void run_store(struct machine *machine, const struct bpf_insn *at)
{
	uint64_t address = machine->registers[at->dst_reg] + at->off;
	uint64_t value = machine->registers[at->src_reg];

	if (at->code == (BPF_STX | BPF_MEM | BPF_W)) {
		*(uint32_t *)memory(machine, address, sizeof(uint32_t)) = value;
		return;
	}
	if (at->code == (BPF_STX | BPF_ATOMIC | BPF_DW) && at->imm == BPF_ADD)
		value += *(uint64_t *)memory(machine, address, sizeof(value));
	else
		assert_int_equal(at->code, BPF_STX | BPF_MEM | BPF_DW);
	*(uint64_t *)memory(machine, address, sizeof(value)) = value;
}

/* Runs one instruction; returns how many following ones to skip. */
static size_t step(struct machine *machine, const struct bpf_insn *at)
{
	uint64_t *registers = machine->registers, *to = &registers[at->dst_reg];
	uint64_t right = BPF_SRC(at->code) == BPF_X ? registers[at->src_reg] : (uint64_t)at->imm;

	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
		assert_int_equal(at->code, BPF_LD | BPF_DW | BPF_IMM);
		*to = (uint32_t)at[0].imm | (uint64_t)at[1].imm << 32;
		return 1;
	case BPF_LDX:
		assert_int_equal(at->code, BPF_LDX | BPF_MEM | BPF_DW);
		*to = *(uint64_t *)memory(machine, registers[at->src_reg] + at->off, 8);
		return 0;
	case BPF_STX:
		run_store(machine, at);
		return 0;
	case BPF_ALU64:
		*to = calculate(BPF_OP(at->code), *to, right);
		return 0;
	default:
		assert_int_equal(BPF_CLASS(at->code), BPF_JMP);
		assert_true(at->off >= 0);
		if (BPF_OP(at->code) == BPF_CALL)
			run_call(machine, at->imm);
		else if (is_discovered(BPF_OP(at->code), *to, right))
			return at->off;
		return 0;
	}
}

static bool interpret(const struct sample_filter *filter, int followed_fd, const struct task *task)
{
	struct machine machine = { .task = task,
				   .skipped_fd = filter->skipped_fd,
				   .followed_fd = followed_fd };

	assert_int_equal(loaded, BPF_PROG_TYPE_PERF_EVENT);
	memset(machine.stack, 0xee, sizeof(machine.stack));
	machine.registers[BPF_STACK_REGISTER] = (uintptr_t)machine.stack + STACK_SIZE;
	for (size_t i = 0; i < program.n; i++) {
		if (program.list[i].code == (BPF_JMP | BPF_EXIT))
			return machine.registers[0];
		i += step(&machine, &program.list[i]);
	}
	fail_msg("the program has no end");
	return false;
}

/* A filter as it was generated, independent of the parser. */
struct term {
	enum sample_filter_field field;
	bool is_equal, begins_group;
	unsigned value;
};

static const char *const names[] = { "pid", "tid", "uid", "gid", "comm" };
static const char *const comms[] = { "a", "cc1", "fifteen letters", "Web Content", "\xff\xfe" };

enum { VALUES = 5, FIELDS = sizeof(names) / sizeof(*names) };

static const uint32_t numbers[VALUES] = { 0, 1, 77, 0x80000000, UINT32_MAX };

static bool holds(const struct term *term, const struct task *task)
{
	const uint32_t of_task[] = { task->pid, task->tid, task->uid, task->gid };
	bool is_same = term->field == FILTER_COMM ? !strcmp(task->comm, comms[term->value])
						  : of_task[term->field] == numbers[term->value];

	return is_same == term->is_equal;
}

/* Every group must have a term that holds. */
static bool is_wanted(const struct term *terms, size_t n, const struct task *task)
{
	bool group = true, all = true;

	for (size_t i = 0; i < n; i++) {
		if (terms[i].begins_group) {
			all &= group;
			group = false;
		}
		group |= holds(&terms[i], task);
	}
	return all && group;
}

static const char *random_space(void)
{
	static const char *const spaces[] = { "", "", "", " ", "\t" };

	return spaces[rand() % 5];
}

static void make_filter(struct term *terms, size_t n, char text[TEXT_SIZE])
{
	size_t size = 0;

	for (size_t i = 0; i < n; i++) {
		struct term *term = &terms[i];
		char number[16];

		*term = (struct term){ rand() % FIELDS, rand() % 2, !i || rand() % 2,
				       rand() % VALUES };
		snprintf(number, sizeof(number), "%u", numbers[term->value]);
		size += snprintf(text + size, TEXT_SIZE - size, "%s%s%s%s%s%s%s%s",
				 !i		      ? ""
				 : term->begins_group ? ","
						      : "||",
				 random_space(), names[term->field], random_space(),
				 term->is_equal ? "==" : "!=", random_space(),
				 term->field == FILTER_COMM ? comms[term->value] : number,
				 random_space());
	}
}

static struct task random_task(void)
{
	struct task task = { numbers[rand() % VALUES], numbers[rand() % VALUES],
			     numbers[rand() % VALUES], numbers[rand() % VALUES] };

	strcpy(task.comm, comms[rand() % VALUES]);
	return task;
}

static void load(struct sample_filter *filter, const char *text, int followed_fd)
{
	const char *at;

	if (sample_filter_parse(text, filter, &at) < 0)
		fail_msg("'%s' was not understood from '%s' on", text, at);
	assert_int_equal(sample_filter_load(filter, followed_fd), 0);
}

static void test_programs_decide_like_their_text(void **state)
{
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		struct term terms[SAMPLE_FILTER_TERMS_MAX];
		size_t n = 1 + rand() % SAMPLE_FILTER_TERMS_MAX;
		struct sample_filter filter;
		char text[TEXT_SIZE];
		uint64_t n_unwanted = 0;

		make_filter(terms, n, text);
		load(&filter, text, -1);
		for (int i = 0; i < TASKS_A_ROUND; i++) {
			struct task task = random_task();
			bool wanted = is_wanted(terms, n, &task);

			n_unwanted += !wanted;
			if (interpret(&filter, -1, &task) != wanted)
				fail_msg("'%s' of pid %u, tid %u, uid %u, gid %u, comm '%s'", text,
					 task.pid, task.tid, task.uid, task.gid, task.comm);
		}
		assert_int_equal(sample_filter_skipped(&filter), n_unwanted);
		sample_filter_unload(&filter);
		assert_int_equal(sample_filter_skipped(&filter), 0);
	}
}

/* Longer names would differ only past the length that a filter supports. */
static void test_a_comm_is_compared_to_its_end(void **state)
{
	struct sample_filter filter;
	struct task task = { .comm = "cc1plus" };

	load(&filter, "comm==cc1", -1);
	assert_false(interpret(&filter, -1, &task));
	sample_filter_unload(&filter);
	load(&filter, "comm==fifteen letterz", -1);
	strcpy(task.comm, "fifteen letters");
	assert_false(interpret(&filter, -1, &task));
	sample_filter_unload(&filter);
}

static void test_groups_below_a_cgroup_belong_to_it(void **state)
{
	struct sample_filter filter = {
		.terms = { { .field = FILTER_CGROUP,
			     .ends_group = true,
			     .number = 9,
			     .level = 1 } },
		.n = 1,
	};
	struct task task = { .cgroups = { 1, 9, 30 } };

	for (int is_equal = 0; is_equal < 2; is_equal++) {
		filter.terms[0].is_equal = is_equal;
		assert_int_equal(sample_filter_load(&filter, -1), 0);
		task.cgroups[1] = 9;
		assert_int_equal(interpret(&filter, -1, &task), is_equal);
		task.cgroups[1] = 8;
		assert_int_equal(interpret(&filter, -1, &task), !is_equal);
		task.cgroups[1] = 0; /* the task is in the root cgroup */
		assert_int_equal(interpret(&filter, -1, &task), !is_equal);
		sample_filter_unload(&filter);
	}
}

/* Samples of processes that are not followed are not counted. */
static void test_only_followed_processes_are_filtered(void **state)
{
	enum { FOLLOWED_FD = 1000 };
	struct sample_filter filter;
	struct task task = { .pid = 77, .tid = 78 };

	load(&filter, "uid==1", FOLLOWED_FD);
	assert_false(interpret(&filter, FOLLOWED_FD, &task));
	assert_int_equal(sample_filter_skipped(&filter), 0);
	task.is_followed = true;
	assert_false(interpret(&filter, FOLLOWED_FD, &task));
	assert_int_equal(sample_filter_skipped(&filter), 1);
	task.uid = 1;
	assert_true(interpret(&filter, FOLLOWED_FD, &task));
	sample_filter_unload(&filter);
}

static void test_without_terms_all_followed_pass(void **state)
{
	enum { FOLLOWED_FD = 1000 };
	struct sample_filter filter = { 0 };

	assert_int_equal(sample_filter_load(&filter, FOLLOWED_FD), 0);
	assert_true(interpret(&filter, FOLLOWED_FD, &(struct task){ .is_followed = true }));
	assert_false(interpret(&filter, FOLLOWED_FD, &(struct task){ 0 }));
	sample_filter_unload(&filter);
}

static void test_terms_are_parsed(void **state)
{
	struct sample_filter filter;
	const struct sample_filter_term *term = filter.terms;

	assert_int_equal(sample_filter_parse(" gid\t!= 4294967295 ", &filter, NULL), 0);
	assert_int_equal(filter.n, 1);
	assert_int_equal(term->field, FILTER_GID);
	assert_false(term->is_equal);
	assert_true(term->ends_group);
	assert_int_equal(term->number, UINT32_MAX);
	assert_int_equal(filter.program_fd, -1);
	assert_int_equal(filter.skipped_fd, -1);
	assert_int_equal(sample_filter_parse("comm== a=b c! \t", &filter, NULL), 0);
	assert_int_equal(term->field, FILTER_COMM);
	assert_true(term->is_equal);
	assert_string_equal(term->comm, "a=b c!");
}

static void test_or_binds_closer_than_and(void **state)
{
	static const bool ends[] = { false, true, true, false, true };
	struct sample_filter filter;

	assert_int_equal(
		sample_filter_parse("pid==1||tid==2,uid==3,gid==4 || pid==5", &filter, NULL), 0);
	assert_int_equal(filter.n, sizeof(ends));
	for (size_t i = 0; i < sizeof(ends); i++) {
		assert_int_equal(filter.terms[i].number, i + 1);
		assert_int_equal(filter.terms[i].ends_group, ends[i]);
	}
}

/* Parsing must stop after `n_before` characters. */
static void refuse(const char *text, int error, size_t n_before)
{
	struct sample_filter filter;
	const char *at = NULL;

	if (sample_filter_parse(text, &filter, &at) != error)
		fail_msg("'%s'", text);
	assert_int_equal(at - text, n_before);
}

static void test_invalid_terms_are_refused_at_their_position(void **state)
{
	static const char *const wrong[] = {
		"",
		" ",
		"pid",
		"pid=",
		"pid=1",
		"pid==",
		"pid== ",
		"pid==x",
		"pid==-1",
		"pid==+1",
		"pid==1x",
		"pid==1 2",
		"pid<=1",
		"pid===1",
		"pid!1",
		"pi==1",
		"pids==1",
		"PID==1",
		"==1",
		"pid==0x1",
		"comm==",
		"comm==\t",
		"uid==root",
		"pid==1|",
		"pid==1|x",
		"pid==1|||x",
		"pid==1.5",
		"uid==,x==",
		"(pid==1)",
		"pid==4294967296",
		"pid==18446744073709551617",
		"comm==sixteen letters!",
	};
	char text[64];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (strcmp(wrong[i], "pid==1|||x"))
			refuse(wrong[i], -EINVAL, 0);
		strcpy(stpcpy(text, "tid!=7,"), wrong[i]);
		if (strcmp(wrong[i], "pid==1|||x"))
			refuse(text, -EINVAL, strlen("tid!=7,"));
	}
	refuse("pid==1|||x", -EINVAL, strlen("pid==1||"));
	refuse("pid==1||", -EINVAL, strlen("pid==1||"));
	refuse("pid==1,,pid==2", -EINVAL, strlen("pid==1,"));
}

static void test_the_number_of_terms_is_limited(void **state)
{
	struct sample_filter filter;
	char text[TEXT_SIZE] = "pid==1";

	for (int i = 1; i < SAMPLE_FILTER_TERMS_MAX; i++)
		strcat(text, i % 2 ? ",pid==1" : "||pid==1");
	assert_int_equal(sample_filter_parse(text, &filter, NULL), 0);
	assert_int_equal(filter.n, SAMPLE_FILTER_TERMS_MAX);
	strcat(text, ",tid==1");
	refuse(text, -E2BIG, strlen(text) - strlen("tid==1"));
}

static void test_a_value_has_a_limit(void **state)
{
	char text[2 * TEXT_SIZE + 1] = "cgroup==/";

	memset(text + strlen(text), 'x', sizeof(text) - 1 - strlen(text));
	refuse(text, -EINVAL, 0);
}

static void test_a_cgroup_is_a_path_below_the_root(void **state)
{
	struct sample_filter filter;

	refuse("cgroup==..", -EINVAL, 0);
	refuse("cgroup==/a/../b", -EINVAL, 0);
	refuse("cgroup==./b", -EINVAL, 0);
	refuse("pid==1,cgroup==/no-such/group", -ENOENT, strlen("pid==1,"));
	if (sample_filter_parse("cgroup==/", &filter, NULL) == -ENOENT) {
		print_message("there are no control groups of version 2, or not their root\n");
		skip();
	}
	assert_int_equal(filter.terms[0].field, FILTER_CGROUP);
	assert_int_equal(filter.terms[0].level, 0);
	assert_true(filter.terms[0].number > 0);
}

/* Whether the kernel accepts samples of this task. */
static bool ask_kernel(const char *text)
{
	union bpf_attr attr = { 0 };
	struct sample_filter filter;
	uint64_t before;

	load(&filter, text, -1);
	before = sample_filter_skipped(&filter);
	attr.test.prog_fd = filter.program_fd;
	assert_int_equal(syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)), 0);
	assert_int_equal(sample_filter_skipped(&filter), before + !attr.test.retval);
	sample_filter_unload(&filter);
	return attr.test.retval;
}

static int begin_kernel(void **state)
{
	is_kernel_asked = true;
	return 0;
}

static int end_kernel(void **state)
{
	is_kernel_asked = false;
	return 0;
}

static void skip_without_bpf(void)
{
	struct sample_filter filter = { 0 };
	int r = sample_filter_load(&filter, -1);

	sample_filter_unload(&filter);
	if (r == 0 && pid_namespace_is_initial())
		return;
	print_message("the kernel lets us load no program that knows us: %s\n", strerror(-r));
	skip();
}

static void test_the_kernel_decides_the_same(void **state)
{
	char text[TEXT_SIZE];

	skip_without_bpf();
	prctl(PR_SET_NAME, "fifteen letters");
	snprintf(text, sizeof(text), "pid==%d,tid==%d,uid==%d,gid==%d,comm==fifteen letters",
		 getpid(), gettid(), getuid(), getgid());
	assert_true(ask_kernel(text));
	strcat(text, ",comm==fifteen letterz");
	assert_false(ask_kernel(text));
	strcat(text, "||uid!=4294967295");
	assert_true(ask_kernel(text));
	for (size_t i = 0; i < FIELDS; i++) {
		snprintf(text, sizeof(text), "%s!=4294967295", names[i]);
		assert_true(ask_kernel(text));
		snprintf(text, sizeof(text), "%s==4294967295", names[i]);
		assert_false(ask_kernel(text));
	}
}

static void test_the_kernel_takes_the_longest_one(void **state)
{
	char text[TEXT_SIZE] = "comm!=a";
	struct sample_filter filter;
	int fd;

	skip_without_bpf();
	for (int i = 1; i < SAMPLE_FILTER_TERMS_MAX; i++)
		strcat(text, i % 2 ? ",comm!=fifteen letters" : "||comm!=a");
	load(&filter, text, -1);
	fd = __real_bpf_load_program(&program, BPF_PROG_TYPE_PERF_EVENT);
	assert_true(fd >= 0);
	close(fd);
	sample_filter_unload(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms_are_parsed),
		cmocka_unit_test(test_or_binds_closer_than_and),
		cmocka_unit_test(test_invalid_terms_are_refused_at_their_position),
		cmocka_unit_test(test_the_number_of_terms_is_limited),
		cmocka_unit_test(test_a_value_has_a_limit),
		cmocka_unit_test(test_a_cgroup_is_a_path_below_the_root),
		cmocka_unit_test(test_programs_decide_like_their_text),
		cmocka_unit_test(test_a_comm_is_compared_to_its_end),
		cmocka_unit_test(test_groups_below_a_cgroup_belong_to_it),
		cmocka_unit_test(test_only_followed_processes_are_filtered),
		cmocka_unit_test(test_without_terms_all_followed_pass),
		cmocka_unit_test_setup_teardown(test_the_kernel_decides_the_same, begin_kernel,
						end_kernel),
		cmocka_unit_test_setup_teardown(test_the_kernel_takes_the_longest_one, begin_kernel,
						end_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
