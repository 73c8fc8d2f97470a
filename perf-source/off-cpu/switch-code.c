/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "common/wire/wire.h"
#include "perf-source/off-cpu/switch-code.h"

/* Registers, in all programs. */
enum { CONTEXT = 6, NOW = 7, SETTINGS = 8, THREAD = 9, STACK = BPF_STACK_REGISTER };

/* Places on the stack, as offsets from its end. */
enum {
	KEY = -8,	  /* a TID, the key of the map of threads, */
	KEY_PROCESS = -4, /* and its PID */
	WAIT = -16,
	THRESHOLD = -24, /* a copy, as the settings may change meanwhile */
	RAN = -32,	 /* time on the CPU since the thread's last known switch */
	WEIGHT = -40,	 /* nanoseconds that a wait represents */
	FLAGS = RAN,	 /* follows WEIGHT in struct switch_stack */
	NEW_THREAD = WEIGHT - (int)sizeof(struct switch_thread),
	EVENT = WEIGHT - (int)sizeof(struct switch_event),
};

enum { WORD = 8 };

/* Of a task's kernel stack. With stacks of 32 KiB (KASAN), hardly any waker is recognized. */
enum { KERNEL_STACK_SIZE = 16 * 1024 };

/* Offsets of arguments in the context. */
enum {
	SWITCH_PREEMPTS = 0 * WORD,
	SWITCH_PREV = 1 * WORD,
	SWITCH_NEXT = 2 * WORD,
	SWITCH_PREV_STATE = 3 * WORD,
	FORK_CHILD = 1 * WORD,
	EXEC_TASK = 0 * WORD,
	EXEC_OLD_PID = 1 * WORD,
	EXIT_TASK = 0 * WORD,
	WAKING_TASK = 0 * WORD,
};

#define OF_THREAD(field) (int)offsetof(struct switch_thread, field)
#define OF_EVENT(field) (EVENT + (int)offsetof(struct switch_event, field))
#define OF_SETTINGS(field) (int)offsetof(struct switch_settings, field)

static void put_return(struct bpf_code *code)
{
	bpf_set(code, 0, 0);
	bpf_exit(code);
}

/* Loads the time and the settings; all programs except sched_waking begin with it. */
static void put_find_settings(struct bpf_code *code, const struct switch_program *program)
{
	size_t found;

	bpf_call(code, BPF_FUNC_ktime_get_ns);
	bpf_copy(code, NOW, 0);
	bpf_set(code, 1, 0);
	bpf_store(code, BPF_WIDTH_8, STACK, KEY, 1);
	bpf_store(code, BPF_WIDTH_8, STACK, WEIGHT, 1);
	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, program->settings_fd, KEY);
	found = bpf_jump_if_value(code, BPF_JNE, 0, 0);
	put_return(code);
	bpf_land(code, found);
	bpf_copy(code, SETTINGS, 0);
}

static void put_begin(struct bpf_code *code, const struct switch_program *program)
{
	bpf_copy(code, CONTEXT, 1);
	put_find_settings(code, program);
}

/* Gets the current thread's TID and PID into KEY and KEY_PROCESS at once. */
static void put_current(struct bpf_code *code)
{
	bpf_call(code, BPF_FUNC_get_current_pid_tgid);
	bpf_store(code, BPF_WIDTH_8, STACK, KEY, 0);
}

/* Reads 8 bytes at an offset of the task `argument` to the stack at `to`; 0 if unreadable. */
static void put_read_task(struct bpf_code *code, int16_t argument, uint32_t offset, int to)
{
	bpf_copy(code, 1, STACK);
	bpf_do_value(code, BPF_ADD, 1, to);
	bpf_set(code, 2, WORD);
	bpf_load(code, BPF_WIDTH_8, 3, CONTEXT, argument);
	bpf_do_value(code, BPF_ADD, 3, offset);
	bpf_call(code, BPF_FUNC_probe_read_kernel);
}

/* Adds the thread of KEY to the map; it begins at the time in register 1. */
static void put_new_thread(struct bpf_code *code, const struct switch_program *program,
			   enum switch_state state, uint64_t how)
{
	bpf_set(code, 2, 0);
	for (int at = NEW_THREAD; at < WEIGHT; at += WORD)
		bpf_store(code, BPF_WIDTH_8, STACK, at, 2);
	bpf_store(code, BPF_WIDTH_8, STACK, NEW_THREAD + OF_THREAD(born), 1);
	bpf_store(code, BPF_WIDTH_8, STACK, NEW_THREAD + OF_THREAD(since), 1);
	bpf_store(code, BPF_WIDTH_8, STACK, NEW_THREAD + OF_THREAD(window_since), 1);
	bpf_set(code, 2, state);
	bpf_store(code, BPF_WIDTH_4, STACK, NEW_THREAD + OF_THREAD(state), 2);
	bpf_load(code, BPF_WIDTH_4, 2, STACK, KEY_PROCESS);
	bpf_store(code, BPF_WIDTH_4, STACK, NEW_THREAD + OF_THREAD(pid), 2);
	bpf_set_map(code, 1, program->threads_fd);
	bpf_copy(code, 2, STACK);
	bpf_do_value(code, BPF_ADD, 2, KEY);
	bpf_copy(code, 3, STACK);
	bpf_do_value(code, BPF_ADD, 3, NEW_THREAD);
	bpf_set(code, 4, how);
	bpf_call(code, BPF_FUNC_map_update_elem);
}

/*
 * Finds the thread of KEY, whose task is the argument `task`. An unknown thread is added: it has
 * been in `state` since the beginning, or since it was created (threads of io_uring are not
 * reported at creation). The returned jump is taken if there is no room; `begun` is then NOW, as a
 * thread that is unknown later may have been refused before.
 */
static size_t put_find_thread(struct bpf_code *code, const struct switch_program *program,
			      enum switch_state state, int16_t task)
{
	size_t is_known, was_there, is_added, has_no_room;

	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, program->threads_fd, KEY);
	is_known = bpf_jump_if_value(code, BPF_JNE, 0, 0);
	put_read_task(code, task, program->start_offset, RAN);
	bpf_load(code, BPF_WIDTH_8, 2, STACK, RAN);
	bpf_load(code, BPF_WIDTH_8, 1, SETTINGS, OF_SETTINGS(begun));
	was_there = bpf_jump_if(code, BPF_JLE, 2, 1);
	bpf_copy(code, 1, 2);
	bpf_land(code, was_there);
	put_new_thread(code, program, state, BPF_NOEXIST);
	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, program->threads_fd, KEY);
	is_added = bpf_jump_if_value(code, BPF_JNE, 0, 0);
	bpf_set(code, 1, 1);
	bpf_add_atomically(code, SETTINGS, OF_SETTINGS(n_refused), 1);
	bpf_store(code, BPF_WIDTH_8, SETTINGS, OF_SETTINGS(begun), NOW);
	has_no_room = bpf_jump(code);
	bpf_land(code, is_known);
	bpf_land(code, is_added);
	bpf_copy(code, THREAD, 0);
	return has_no_room;
}

/* thread->field += a register, which is not 1. */
static void put_add(struct bpf_code *code, int16_t field, int from)
{
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, field);
	bpf_do(code, BPF_ADD, 1, from);
	bpf_store(code, BPF_WIDTH_8, THREAD, field, 1);
}

static void put_increment(struct bpf_code *code, int16_t field)
{
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, field);
	bpf_do_value(code, BPF_ADD, 1, 1);
	bpf_store(code, BPF_WIDTH_8, THREAD, field, 1);
}

static void put_state(struct bpf_code *code, enum switch_state state)
{
	bpf_set(code, 1, state);
	bpf_store(code, BPF_WIDTH_4, THREAD, OF_THREAD(state), 1);
}

static void put_output(struct bpf_code *code, int map_fd, int data, size_t size)
{
	bpf_copy(code, 1, CONTEXT);
	bpf_set_map(code, 2, map_fd);
	bpf_set_64(code, 3, BPF_F_CURRENT_CPU);
	bpf_copy(code, 4, STACK);
	bpf_do_value(code, BPF_ADD, 4, data);
	bpf_set(code, 5, size);
	bpf_call(code, BPF_FUNC_perf_event_output);
}

/* Emits an event with the thread's state, until NOW. */
static void put_event(struct bpf_code *code, const struct switch_program *program,
		      enum switch_event_kind kind)
{
	bpf_set(code, 1, kind);
	bpf_store(code, BPF_WIDTH_4, STACK, OF_EVENT(kind), 1);
	bpf_load(code, BPF_WIDTH_4, 1, STACK, KEY);
	bpf_store(code, BPF_WIDTH_4, STACK, OF_EVENT(tid), 1);
	bpf_load(code, BPF_WIDTH_4, 1, THREAD, OF_THREAD(pid));
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(pid), 1);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(flags));
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(flags), 1);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(born));
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(born), 1);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(waker));
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(waker), 1);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(since));
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(from), 1);
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(until), NOW);
	bpf_load(code, BPF_WIDTH_8, 1, STACK, WEIGHT);
	bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(weight), 1);
	for (size_t at = 0; at < sizeof(struct switch_sums); at += WORD) {
		bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(sums) + at);
		bpf_store(code, BPF_WIDTH_8, STACK, OF_EVENT(sums) + at, 1);
	}
	put_output(code, program->events_fd, EVENT, sizeof(struct switch_event));
}

/* Chooses the distance to the next sampling point: at random, one to two thresholds. */
static void put_next_gap(struct bpf_code *code, int16_t gap)
{
	bpf_call(code, BPF_FUNC_get_prandom_u32);
	bpf_load(code, BPF_WIDTH_8, 1, STACK, THRESHOLD);
	bpf_do(code, BPF_MOD, 0, 1);
	bpf_do(code, BPF_ADD, 0, 1);
	bpf_store(code, BPF_WIDTH_8, THREAD, gap, 0);
}

/*
 * Adds the wait in register 3 to the short waits at `waits` of a thread. If it crosses the next
 * sampling point, 3 is what it represents, in whole gaps; else the returned jump is taken.
 */
static size_t put_cross(struct bpf_code *code, int16_t waits)
{
	const int16_t pending = waits + (int16_t)offsetof(struct short_waits, pending_ns);
	const int16_t gap = waits + (int16_t)offsetof(struct short_waits, gap_ns);
	size_t goes_on;

	put_add(code, pending, 3);
	bpf_copy(code, 3, 1);
	bpf_load(code, BPF_WIDTH_8, 2, THREAD, gap);
	goes_on = bpf_jump_if(code, BPF_JLT, 3, 2);
	bpf_do(code, BPF_MOD, 1, 2); /* modulo 0 leaves 1 as it is */
	bpf_store(code, BPF_WIDTH_8, THREAD, pending, 1);
	bpf_do(code, BPF_SUB, 3, 1);
	bpf_store(code, BPF_WIDTH_8, STACK, WEIGHT, 3);
	put_next_gap(code, gap);
	bpf_load(code, BPF_WIDTH_8, 3, STACK, WEIGHT);
	return goes_on;
}

/* Into WEIGHT: register 3, but no more than is left of the short waits; counts it as sampled. */
static void put_weight(struct bpf_code *code)
{
	size_t is_there;

	bpf_load(code, BPF_WIDTH_8, 2, THREAD, OF_THREAD(sums.short_ns));
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(sums.sampled_ns));
	bpf_do(code, BPF_SUB, 2, 1);
	is_there = bpf_jump_if(code, BPF_JLE, 3, 2);
	bpf_copy(code, 3, 2);
	bpf_land(code, is_there);
	bpf_store(code, BPF_WIDTH_8, STACK, WEIGHT, 3);
	put_add(code, OF_THREAD(sums.sampled_ns), 3);
}

/* wait_threshold_sample() of register 3; a wait looked at represents those passed by, too. */
static void put_short_wait(struct bpf_code *code, const struct switch_program *program)
{
	size_t is_not_looked_at, goes_on, is_nothing;

	put_add(code, OF_THREAD(sums.short_ns), 3);
	put_increment(code, OF_THREAD(passed));
	bpf_load(code, BPF_WIDTH_8, 2, THREAD, OF_THREAD(is_looked_at));
	is_not_looked_at = bpf_jump_if_value(code, BPF_JEQ, 2, 0);
	bpf_do(code, BPF_MUL, 3, 1); /* 1 is `passed`, from the increment */
	bpf_set(code, 1, 0);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(passed), 1);
	goes_on = put_cross(code, OF_THREAD(short_waits));
	put_weight(code);
	bpf_load(code, BPF_WIDTH_8, 1, STACK, WEIGHT);
	is_nothing = bpf_jump_if_value(code, BPF_JEQ, 1, 0);
	put_event(code, program, SWITCH_SAMPLED);
	bpf_land(code, is_not_looked_at);
	bpf_land(code, goes_on);
	bpf_land(code, is_nothing);
}

/* Into 2: how often the time of a window, in 3, must be doubled to reach SWITCH_WINDOW_NS. */
static void put_thinning(struct bpf_code *code)
{
	size_t is_slower[SWITCH_THINNING_MAX];

	bpf_set(code, 2, 0);
	for (int i = 0; i < SWITCH_THINNING_MAX; i++) {
		is_slower[i] = bpf_jump_if_value(code, BPF_JGE, 3, SWITCH_WINDOW_NS >> i);
		bpf_do_value(code, BPF_ADD, 2, 1);
	}
	for (int i = 0; i < SWITCH_THINNING_MAX; i++)
		bpf_land(code, is_slower[i]);
}

/* At the end of a window, decides how many of the stacks are worth their price. */
static void put_look_at_window(struct bpf_code *code)
{
	size_t is_slow, is_not_full, is_not_worth_it;

	put_increment(code, OF_THREAD(window_n));
	bpf_load(code, BPF_WIDTH_8, 3, STACK, WAIT);
	put_add(code, OF_THREAD(window_ns), 3);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(window_since));
	bpf_copy(code, 3, NOW);
	bpf_do(code, BPF_SUB, 3, 1);
	is_slow = bpf_jump_if_value(code, BPF_JGE, 3, SWITCH_WINDOW_NS);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(window_n));
	is_not_full = bpf_jump_if_value(code, BPF_JLT, 1, SWITCH_WINDOW_WAITS);
	bpf_land(code, is_slow);
	put_thinning(code);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(window_long_ns));
	bpf_do_value(code, BPF_MUL, 1, SWITCH_LONG_SHARE);
	bpf_load(code, BPF_WIDTH_8, 3, THREAD, OF_THREAD(window_ns));
	is_not_worth_it = bpf_jump_if(code, BPF_JLE, 1, 3);
	bpf_set(code, 2, 0);
	bpf_land(code, is_not_worth_it);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(thinning), 2);
	bpf_set(code, 2, 0);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(window_n), 2);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(window_ns), 2);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(window_long_ns), 2);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(window_since), NOW);
	bpf_land(code, is_not_full);
}

/* Ends the thread's wait, at NOW. */
static void put_end_wait(struct bpf_code *code, const struct switch_program *program)
{
	size_t is_short, is_done;

	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(since));
	bpf_copy(code, 3, NOW);
	bpf_do(code, BPF_SUB, 3, 1);
	bpf_store(code, BPF_WIDTH_8, STACK, WAIT, 3);
	bpf_load(code, BPF_WIDTH_8, 4, SETTINGS, OF_SETTINGS(threshold_ns));
	bpf_store(code, BPF_WIDTH_8, STACK, THRESHOLD, 4);
	put_add(code, OF_THREAD(sums.off_ns), 3);
	put_increment(code, OF_THREAD(sums.n_waits));
	is_short = bpf_jump_if(code, BPF_JLT, 3, 4);
	put_add(code, OF_THREAD(window_long_ns), 3);
	put_event(code, program, SWITCH_WAITED);
	is_done = bpf_jump(code);
	bpf_land(code, is_short);
	put_short_wait(code, program);
	bpf_land(code, is_done);
	put_look_at_window(code);
	bpf_set(code, 1, 0); /* the waker is of this wait alone */
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(waker), 1);
}

/* Into RAN: CPU time by the scheduler's own account, which also covers missed switches. */
static void put_ran(struct bpf_code *code, const struct switch_program *program, int16_t task)
{
	size_t is_sane, is_not_more;

	put_read_task(code, task, program->runtime_offset, RAN);
	bpf_load(code, BPF_WIDTH_8, 3, STACK, RAN);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(runtime));
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(runtime), 3);
	is_sane = bpf_jump_if(code, BPF_JGE, 3, 1);
	bpf_copy(code, 3, 1);
	bpf_land(code, is_sane);
	bpf_do(code, BPF_SUB, 3, 1);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(since));
	bpf_copy(code, 2, NOW);
	bpf_do(code, BPF_SUB, 2, 1);
	is_not_more = bpf_jump_if(code, BPF_JLE, 3, 2);
	bpf_copy(code, 3, 2);
	bpf_land(code, is_not_more);
	bpf_store(code, BPF_WIDTH_8, STACK, RAN, 3);
}

static void put_contradiction(struct bpf_code *code)
{
	bpf_set(code, 1, 1);
	bpf_add_atomically(code, SETTINGS, OF_SETTINGS(n_contradictions), 1);
}

/* Counts a thread's run. If its switch in was missed, it came RAN before NOW. */
static void put_run_until_now(struct bpf_code *code, const struct switch_program *program,
			      int16_t task)
{
	size_t has_come;

	put_ran(code, program, task);
	bpf_load(code, BPF_WIDTH_4, 1, THREAD, OF_THREAD(state));
	has_come = bpf_jump_if_value(code, BPF_JEQ, 1, SWITCH_RUNNING);
	put_contradiction(code);
	bpf_load(code, BPF_WIDTH_8, 1, STACK, RAN);
	bpf_do(code, BPF_SUB, NOW, 1);
	put_end_wait(code, program);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(since), NOW);
	bpf_load(code, BPF_WIDTH_8, 1, STACK, RAN);
	bpf_do(code, BPF_ADD, NOW, 1);
	bpf_land(code, has_come);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(since));
	bpf_copy(code, 2, NOW);
	bpf_do(code, BPF_SUB, 2, 1);
	put_add(code, OF_THREAD(sums.on_ns), 2);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(since), NOW);
}

/* Ends a thread's wait. If its switch out was missed, it first ran for RAN, then waited. */
static void put_wait_until_now(struct bpf_code *code, const struct switch_program *program,
			       int16_t task)
{
	size_t has_gone;

	put_ran(code, program, task);
	bpf_load(code, BPF_WIDTH_4, 1, THREAD, OF_THREAD(state));
	has_gone = bpf_jump_if_value(code, BPF_JEQ, 1, SWITCH_AWAY);
	put_contradiction(code);
	bpf_load(code, BPF_WIDTH_8, 3, STACK, RAN);
	put_add(code, OF_THREAD(sums.on_ns), 3);
	put_add(code, OF_THREAD(since), 3);
	bpf_set(code, 1, 0);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(flags), 1);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(is_looked_at), 1);
	bpf_land(code, has_gone);
	put_end_wait(code, program);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(since), NOW);
}

/* Chooses one wait in 2^thinning, at random distances; the returned jump is for the others. */
static size_t put_choose(struct bpf_code *code)
{
	size_t is_next, is_passed_by;

	bpf_set(code, 2, 0);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(is_looked_at), 2);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(to_pass));
	is_next = bpf_jump_if_value(code, BPF_JEQ, 1, 0);
	bpf_do_value(code, BPF_SUB, 1, 1);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(to_pass), 1);
	is_passed_by = bpf_jump(code);
	bpf_land(code, is_next);
	bpf_call(code, BPF_FUNC_get_prandom_u32);
	bpf_set(code, 2, 2);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(thinning));
	bpf_do(code, BPF_LSH, 2, 1);
	bpf_do_value(code, BPF_SUB, 2, 1);
	bpf_do(code, BPF_MOD, 0, 2);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(to_pass), 0);
	bpf_set(code, 1, 1);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(is_looked_at), 1);
	return is_passed_by;
}

/* The thread is still the current one at sched_switch, so the stack is that of its wait. */
static void put_leave(struct bpf_code *code, const struct switch_program *program)
{
	size_t was_preempted, could_go_on, is_passed_by;

	put_state(code, SWITCH_AWAY);
	bpf_set(code, 2, WIRE_sample_flags_PREEMPTED);
	bpf_load(code, BPF_WIDTH_8, 1, CONTEXT, SWITCH_PREEMPTS);
	was_preempted = bpf_jump_if_value(code, BPF_JNE, 1, 0);
	bpf_load(code, BPF_WIDTH_8, 1, CONTEXT, SWITCH_PREV_STATE);
	could_go_on = bpf_jump_if_value(code, BPF_JEQ, 1, 0); /* TASK_RUNNING */
	bpf_set(code, 2, 0);
	bpf_land(code, was_preempted);
	bpf_land(code, could_go_on);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(flags), 2);
	is_passed_by = put_choose(code);
	bpf_set(code, 1, 0);
	bpf_store(code, BPF_WIDTH_8, STACK, WEIGHT, 1);
	put_output(code, program->stacks_fd, WEIGHT, sizeof(struct switch_stack));
	bpf_land(code, is_passed_by);
}

static void put_goes(struct bpf_code *code, const struct switch_program *program)
{
	size_t is_idle, has_no_room, has_ended;

	put_current(code);
	bpf_load(code, BPF_WIDTH_4, 1, STACK, KEY);
	is_idle = bpf_jump_if_value(code, BPF_JEQ, 1, 0);
	has_no_room = put_find_thread(code, program, SWITCH_RUNNING, SWITCH_PREV);
	bpf_load(code, BPF_WIDTH_4, 1, THREAD, OF_THREAD(state));
	has_ended = bpf_jump_if_value(code, BPF_JEQ, 1, SWITCH_ENDED);
	put_run_until_now(code, program, SWITCH_PREV);
	put_leave(code, program);
	bpf_land(code, is_idle);
	bpf_land(code, has_no_room);
	bpf_land(code, has_ended);
}

static void put_comes(struct bpf_code *code, const struct switch_program *program)
{
	size_t is_idle, has_no_room, has_ended;

	put_read_task(code, SWITCH_NEXT, program->pid_offset, KEY);
	bpf_load(code, BPF_WIDTH_4, 1, STACK, KEY);
	is_idle = bpf_jump_if_value(code, BPF_JEQ, 1, 0);
	has_no_room = put_find_thread(code, program, SWITCH_AWAY, SWITCH_NEXT);
	bpf_load(code, BPF_WIDTH_4, 1, THREAD, OF_THREAD(state));
	has_ended = bpf_jump_if_value(code, BPF_JEQ, 1, SWITCH_ENDED);
	put_wait_until_now(code, program, SWITCH_NEXT);
	put_state(code, SWITCH_RUNNING);
	bpf_land(code, is_idle);
	bpf_land(code, has_no_room);
	bpf_land(code, has_ended);
}

void switch_code_switch(struct bpf_code *code, const struct switch_program *program)
{
	put_begin(code, program);
	put_goes(code, program);
	put_comes(code, program);
	put_return(code);
}

void switch_code_fork(struct bpf_code *code, const struct switch_program *program)
{
	put_begin(code, program);
	put_read_task(code, FORK_CHILD, program->pid_offset, KEY);
	bpf_copy(code, 1, NOW);
	put_new_thread(code, program, SWITCH_AWAY, BPF_ANY);
	put_return(code);
}

/* Sums until now are of the old program. Only one thread is left, with the main thread's TID. */
void switch_code_exec(struct bpf_code *code, const struct switch_program *program)
{
	size_t has_no_room;

	put_begin(code, program);
	put_current(code);
	bpf_load(code, BPF_WIDTH_8, 1, CONTEXT, EXEC_OLD_PID);
	bpf_store(code, BPF_WIDTH_4, STACK, KEY, 1);
	has_no_room = put_find_thread(code, program, SWITCH_RUNNING, EXEC_TASK);
	put_run_until_now(code, program, EXEC_TASK);
	put_event(code, program, SWITCH_LEFT);
	bpf_ask_map(code, BPF_FUNC_map_delete_elem, program->threads_fd, KEY);
	put_current(code);
	bpf_copy(code, 1, NOW);
	put_new_thread(code, program, SWITCH_RUNNING, BPF_ANY);
	bpf_land(code, has_no_room);
	put_return(code);
}

void switch_code_exit(struct bpf_code *code, const struct switch_program *program)
{
	size_t has_no_room;

	put_begin(code, program);
	put_current(code);
	has_no_room = put_find_thread(code, program, SWITCH_RUNNING, EXIT_TASK);
	put_run_until_now(code, program, EXIT_TASK);
	put_event(code, program, SWITCH_LEFT);
	put_state(code, SWITCH_ENDED);
	bpf_land(code, has_no_room);
	put_return(code);
}

/*
 * The returned jump is taken if an interrupt uses another stack than the task's. The context lies
 * on the stack in use; its address becomes a number by a store to, and a load from, our map.
 */
static size_t put_is_on_stack_of_task(struct bpf_code *code, const struct switch_program *program)
{
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(place), CONTEXT);
	bpf_call(code, BPF_FUNC_get_current_task);
	bpf_copy(code, 1, STACK);
	bpf_do_value(code, BPF_ADD, 1, RAN);
	bpf_set(code, 2, WORD);
	bpf_copy(code, 3, 0);
	bpf_do_value(code, BPF_ADD, 3, program->stack_offset);
	bpf_call(code, BPF_FUNC_probe_read_kernel);
	bpf_load(code, BPF_WIDTH_8, 1, STACK, RAN);
	bpf_load(code, BPF_WIDTH_8, 2, THREAD, OF_THREAD(place));
	bpf_do(code, BPF_SUB, 2, 1);
	return bpf_jump_if_value(code, BPF_JGE, 2, KERNEL_STACK_SIZE);
}

/*
 * The returned jump is taken if the task is in no system call. An interrupt of user code uses the
 * task's stack (x86-64: call_on_irqstack_cond() of Linux), but registers there are of no system
 * call; nor are those of an exception, so a waker by page fault is not recorded. Other machines
 * need no such check, and never jump.
 */
static size_t put_is_of_system_call(struct bpf_code *code, const struct switch_program *program)
{
	enum { SIGN = 63 };

	if (!program->call_offset) {
		bpf_set(code, 1, 0);
	} else {
		bpf_call(code, BPF_FUNC_get_current_task_btf);
		bpf_copy(code, 1, 0);
		bpf_call(code, BPF_FUNC_task_pt_regs);
		bpf_load(code, BPF_WIDTH_8, 1, 0, program->call_offset);
		bpf_do_value(code, BPF_RSH, 1, SIGN);
	}
	return bpf_jump_if_value(code, BPF_JNE, 1, 0);
}

/*
 * Emits the waker's stack if the wait until now was long, or crosses the next sampling point. Waits
 * until a wake-up have their own points, as they lack the time that a thread waits for a CPU.
 */
static void put_waker_stack(struct bpf_code *code, const struct switch_program *program)
{
	size_t is_no_wait, is_long, goes_on, is_nothing, is_sampled;

	put_find_settings(code, program);
	bpf_load(code, BPF_WIDTH_8, 4, SETTINGS, OF_SETTINGS(threshold_ns));
	bpf_store(code, BPF_WIDTH_8, STACK, THRESHOLD, 4);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(since));
	is_no_wait = bpf_jump_if(code, BPF_JLE, NOW, 1);
	bpf_copy(code, 3, NOW);
	bpf_do(code, BPF_SUB, 3, 1);
	is_long = bpf_jump_if(code, BPF_JGE, 3, 4);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(passed));
	bpf_do_value(code, BPF_ADD, 1, 1);
	bpf_do(code, BPF_MUL, 3, 1);
	goes_on = put_cross(code, OF_THREAD(woken_short_waits));
	is_nothing = bpf_jump_if_value(code, BPF_JEQ, 3, 0);
	bpf_set(code, 1, WIRE_sample_flags_SAMPLED);
	is_sampled = bpf_jump(code);
	bpf_land(code, is_long);
	bpf_set(code, 1, 0);
	bpf_land(code, is_sampled);
	bpf_store(code, BPF_WIDTH_8, STACK, FLAGS, 1);
	bpf_store(code, BPF_WIDTH_8, STACK, WEIGHT, 3);
	put_output(code, program->stacks_fd, WEIGHT, sizeof(struct switch_stack));
	bpf_land(code, is_no_wait);
	bpf_land(code, goes_on);
	bpf_land(code, is_nothing);
}

/*
 * Skips a thread that is only about to be switched out: its waker could be taken for that of a
 * later wait. Skips waits whose stack is not taken, as they are not emitted themselves.
 */
void switch_code_waking(struct bpf_code *code, const struct switch_program *program)
{
	size_t is_unknown, is_not_away, is_not_emitted, is_on_another, is_of_interrupt, is_idle;

	bpf_copy(code, CONTEXT, 1);
	put_read_task(code, WAKING_TASK, program->pid_offset, KEY);
	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, program->threads_fd, KEY);
	is_unknown = bpf_jump_if_value(code, BPF_JEQ, 0, 0);
	bpf_copy(code, THREAD, 0);
	bpf_load(code, BPF_WIDTH_4, 1, THREAD, OF_THREAD(state));
	is_not_away = bpf_jump_if_value(code, BPF_JNE, 1, SWITCH_AWAY);
	bpf_load(code, BPF_WIDTH_8, 1, THREAD, OF_THREAD(is_looked_at));
	is_not_emitted = bpf_jump_if_value(code, BPF_JEQ, 1, 0);
	is_on_another = put_is_on_stack_of_task(code, program);
	is_of_interrupt = put_is_of_system_call(code, program);
	bpf_call(code, BPF_FUNC_get_current_pid_tgid);
	bpf_store(code, BPF_WIDTH_8, THREAD, OF_THREAD(waker), 0);
	is_idle = bpf_jump_if_value(code, BPF_JEQ, 0, 0);
	put_waker_stack(code, program);
	bpf_land(code, is_idle);
	bpf_land(code, is_unknown);
	bpf_land(code, is_not_away);
	bpf_land(code, is_not_emitted);
	bpf_land(code, is_on_another);
	bpf_land(code, is_of_interrupt);
	put_return(code);
}
