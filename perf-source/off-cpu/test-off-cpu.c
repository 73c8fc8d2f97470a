/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feeds scheduler switches in time order and checks the waits emitted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/stage/test-stream.h"
#include "perf-source/off-cpu/off-cpu.h"
#include "perf-source/perf/event-set.h"

enum {
	PID = 5000000, /* above PID_MAX_LIMIT: never in /proc */
	TID = PID + 1,
	STACK_SIZE = 64,
	CONTEXT_SIZE = 8,
	OFF_CPU_EVENT = 3,
	N_CPUS = 1,
};

static struct test_stream stream;
static struct images images;
static struct processes processes;
static struct off_cpu off_cpu;

static int set_up_with(uint64_t least_ns)
{
	test_stream_init(&stream);
	images_init(&images, &stream.stage, -1);
	processes_init(&processes, &stream.stage, &images);
	off_cpu_init(&off_cpu, &wait_backend_records, &stream.stage, &processes, OFF_CPU_EVENT,
		     N_CPUS, least_ns);
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(100);
}

static int set_up_with_program(void **state)
{
	set_up_with(100);
	off_cpu.backend = &wait_backend_program;
	return 0;
}

static int set_up_adapting(void **state)
{
	return set_up_with(0);
}

static int tear_down(void **state)
{
	off_cpu_deinit(&off_cpu);
	processes_deinit(&processes);
	images_deinit(&images);
	test_stream_deinit(&stream);
	return 0;
}

struct switch_record {
	struct perf_event_header header;
	struct perf_record_id id;
};

static void do_switch(uint32_t tid, uint16_t misc, uint64_t time)
{
	struct switch_record record = {
		.header = { PERF_RECORD_SWITCH, misc, sizeof(record) },
		.id = { .pid = PID, .tid = tid, .time = time },
	};

	assert_int_equal(off_cpu.backend->take_switch(&off_cpu, &record.header, time), 0);
}

static void go(uint32_t tid, uint64_t time)
{
	do_switch(tid, PERF_RECORD_MISC_SWITCH_OUT, time);
}

static void come(uint32_t tid, uint64_t time)
{
	do_switch(tid, 0, time);
}

static char stack_bytes[STACK_SIZE];

/* The sample before a switch, with its stack in memory that is overwritten later. */
static void take_stack(uint32_t tid, char content)
{
	const struct perf_record_sample sample = {
		.pid = PID, .tid = tid, .stack = stack_bytes, .stack_size = STACK_SIZE
	};

	memset(stack_bytes, content, STACK_SIZE);
	assert_int_equal(off_cpu.backend->take_stack(
				 &off_cpu, WAITS_GOING, &sample,
				 (struct sample_context){ .bytes = stack_bytes,
							  .size = CONTEXT_SIZE,
							  .state = WIRE_context_state_READ,
							  .walk = stack_bytes,
							  .walk_size = CONTEXT_SIZE }),
			 0);
}

/* Releases the rings, whose records the kernel then overwrites. */
static void give_back(void)
{
	assert_int_equal(wire_writer_flush(&stream.stage.writer), 0);
	off_cpu_keep(&off_cpu);
	memset(stack_bytes, '!', STACK_SIZE);
}

static void do_task(uint32_t type, uint32_t tid, uint64_t time)
{
	const struct perf_record_task task = {
		.header = { .type = type }, .pid = PID, .parent_pid = PID, .tid = tid
	};

	assert_int_equal(off_cpu.backend->take_task(&off_cpu, &task.header, time), 0);
}

/* The next record of that type; fails if there is none. */
static union wire_view expect(uint16_t type)
{
	union wire_view view;
	uint16_t found;

	while ((found = test_stream_next(&stream, &view)) && found != type)
		;
	assert_int_equal(found, type);
	return view;
}

static void expect_wait(uint64_t time, uint64_t weight, uint32_t flags, char content)
{
	union wire_view view = expect(WIRE_RECORD_sample);

	assert_int_equal(view.sample.time, time);
	assert_int_equal(view.sample.weight, weight);
	assert_int_equal(view.sample.event, OFF_CPU_EVENT);
	assert_int_equal(view.sample.flags, flags);
	assert_int_equal(view.sample.stack.size, STACK_SIZE);
	assert_int_equal(((const char *)view.sample.stack.data)[STACK_SIZE - 1], content);
	if (off_cpu.backend->pairs_in_kernel) /* contexts come with other data */
		return;
	assert_int_equal(view.sample.context_state, WIRE_context_state_READ);
	assert_int_equal(view.sample.thread_context.size, CONTEXT_SIZE);
	assert_memory_equal(view.sample.thread_context.data, view.sample.stack.data, CONTEXT_SIZE);
	assert_int_equal(view.sample.walk.size, CONTEXT_SIZE);
	assert_memory_equal(view.sample.walk.data, view.sample.stack.data, CONTEXT_SIZE);
}

static void expect_sum(uint32_t end, uint64_t weight)
{
	union wire_view view = expect(WIRE_RECORD_stack);

	assert_int_equal(view.stack.end, end);
	assert_int_equal(view.stack.weight, weight);
}

static void expect_time(uint64_t on_cpu, uint64_t off_cpu_ns, uint64_t n_waits)
{
	union wire_view view = expect(WIRE_RECORD_thread_time);

	assert_int_equal(view.thread_time.on_cpu, on_cpu);
	assert_int_equal(view.thread_time.off_cpu, off_cpu_ns);
	assert_int_equal(view.thread_time.n_waits, n_waits);
}

static void expect_nothing_more(void)
{
	union wire_view view;
	uint16_t type;

	while ((type = test_stream_next(&stream, &view)))
		assert_true(type != WIRE_RECORD_sample && type != WIRE_RECORD_stack &&
			    type != WIRE_RECORD_thread_time);
}

static void test_a_wait_has_the_stack_of_its_beginning(void **state)
{
	do_task(PERF_RECORD_FORK, TID, 1000);
	come(TID, 1010);
	take_stack(TID, 'a');
	go(TID, 2000);
	come(TID, 5000);
	expect_wait(5000, 3000, 0, 'a');
	do_task(PERF_RECORD_EXIT, TID, 5500);
	expect_sum(WIRE_stack_end_SHORT_WAITS, 10); /* before it first ran */
	expect_time(990 + 500, 3010, 2);
	go(TID, 5600); /* exits */
	assert_int_equal(off_cpu_finish(&off_cpu, 9000), 0);
	expect_nothing_more();
	assert_null(off_cpu.threads);
}

static void test_a_stack_outlives_its_ring_space(void **state)
{
	come(TID, 1000);
	take_stack(TID, 'a');
	go(TID, 2000);
	give_back();
	come(TID, 5000);
	give_back();
	expect_wait(5000, 3000, 0, 'a');
	take_stack(TID, 'b'); /* in the first stack's memory */
	go(TID, 6000);
	give_back();
	come(TID, 7000);
	expect_wait(7000, 1000, 0, 'b');
	assert_int_equal(off_cpu.kept_bytes, STACK_SIZE + 2 * CONTEXT_SIZE);
}

static void test_existing_threads_are_counted_from_the_start(void **state)
{
	off_cpu.begun_at = 1000;
	come(TID, 3000);   /* was off the CPU */
	go(TID + 1, 4000); /* was running */
	assert_int_equal(off_cpu_finish(&off_cpu, 5000), 0);
	expect_sum(WIRE_stack_end_NO_STACK, 2000);
	expect_time(2000, 2000, 1);
	expect_sum(WIRE_stack_end_NO_STACK, 1000);
	expect_time(3000, 1000, 1);
	expect_nothing_more();
}

/* Events are enabled before the clock is read. */
static void test_switches_before_the_start_take_no_time(void **state)
{
	off_cpu.begun_at = 5000;
	come(TID, 3000);
	go(TID + 1, 4000);
	assert_int_equal(off_cpu_finish(&off_cpu, 6000), 0);
	expect_time(3000, 0, 1);
	expect_sum(WIRE_stack_end_NO_STACK, 2000);
	expect_time(0, 2000, 1);
	expect_nothing_more();
}

static void test_a_runnable_thread_was_preempted(void **state)
{
	take_stack(TID, 'p');
	do_switch(TID, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, 1000);
	come(TID, 2000);
	expect_wait(2000, 1000, WIRE_sample_flags_PREEMPTED, 'p');
}

static void test_unfinished_waits_are_emitted_at_the_end(void **state)
{
	take_stack(TID, 's');
	go(TID, 1000);
	assert_int_equal(off_cpu_finish(&off_cpu, 4000), 0);
	expect_wait(4000, 3000, WIRE_sample_flags_STILL_AWAY, 's');
	expect_time(1000, 3000, 1);
}

/* Sums the waits emitted so far, except sums without stack; counts those that stand for more. */
static uint64_t take_emitted(size_t *ret_sampled)
{
	union wire_view view;
	uint64_t emitted = 0;
	uint16_t type;

	while ((type = test_stream_next(&stream, &view))) {
		if (type == WIRE_RECORD_stack) {
			assert_int_equal(view.stack.end, WIRE_stack_end_SHORT_WAITS);
			emitted += view.stack.weight;
		} else if (type == WIRE_RECORD_sample) {
			assert_int_equal(view.sample.flags, WIRE_sample_flags_SAMPLED);
			assert_true(view.sample.weight >= 100);
			emitted += view.sample.weight;
			++*ret_sampled;
		}
	}
	return emitted;
}

static void test_short_waits_are_sampled(void **state)
{
	size_t n_sampled = 0;

	for (uint64_t time = 1000; time < 11000; time += 100) {
		take_stack(TID, 's');
		go(TID, time);
		come(TID, time + 50);
	}
	assert_int_equal(off_cpu_emit_sums(&off_cpu, 2 * OFF_CPU_EMIT_NS), 0);
	assert_int_equal(off_cpu_finish(&off_cpu, 2 * OFF_CPU_EMIT_NS), 0);
	assert_int_equal(take_emitted(&n_sampled), 100 * 50);
	assert_in_range(n_sampled, 5000 / 200, 5000 / 100);
	assert_int_equal(off_cpu.n_sampled, n_sampled);
	assert_int_equal(off_cpu.n_short, 100 - n_sampled);
}

/* After a lost stack sample an older stack must not be used. */
static void test_a_wait_without_a_stack_has_none(void **state)
{
	come(TID, 1000);
	take_stack(TID, 'a');
	go(TID, 2000);
	come(TID, 3000);
	expect_wait(3000, 1000, 0, 'a');
	go(TID, 4000);
	come(TID, 6000);
	assert_int_equal(off_cpu_finish(&off_cpu, 6000), 0);
	expect_sum(WIRE_stack_end_NO_STACK,
		   1000 + 2000); /* includes the time before the first switch */
	expect_time(2000, 1000 + 1000 + 2000, 3);
}

static void test_after_a_loss_nothing_is_assumed(void **state)
{
	come(TID, 1000);
	take_stack(TID, 'a');
	go(TID, 2000);
	assert_int_equal(off_cpu.backend->take_lost(&off_cpu, 3000), 0);
	come(TID, 5000); /* the start of this wait is unknown */
	take_stack(TID, 'b');
	go(TID, 5500);
	come(TID, 6000);
	expect_wait(6000, 500, 0, 'b');
	assert_int_equal(off_cpu_finish(&off_cpu, 6000), 0);
	expect_sum(WIRE_stack_end_NO_STACK, 1000);
	expect_time(1000 + 500, 1000 + 500, 2);
	assert_int_equal(off_cpu.n_contradictions, 0);
}

static void test_a_reused_tid_is_another_thread(void **state)
{
	come(TID, 1000);
	take_stack(TID, 'a');
	go(TID, 2000);
	give_back();
	do_task(PERF_RECORD_FORK, TID, 3000); /* its exit was lost */
	come(TID, 3500);
	give_back();
	expect_sum(WIRE_stack_end_NO_STACK, 1000); /* of the first thread, which came at 1000 */
	expect_time(1000, 1000, 1);
	assert_int_equal(off_cpu_finish(&off_cpu, 4000), 0);
	expect_sum(WIRE_stack_end_NO_STACK, 500);
	expect_time(500, 500, 1);
	expect_nothing_more();
}

static void test_the_idle_task_never_waits(void **state)
{
	take_stack(0, 'i');
	go(0, 1000);
	come(0, 2000);
	do_switch(PID_UNKNOWN, PERF_RECORD_MISC_SWITCH_OUT, 3000);
	assert_null(off_cpu.threads);
}

/* The fields of sched:sched_waking up to `pid`, including the flags. */
enum { WAKING_FLAGS_AT = 2, WAKING_PID_AT = 24, WAKING_SIZE = 36 };

static void wake(uint64_t time, char flags, size_t size)
{
	char data[WAKING_SIZE] = { 0 };
	const uint32_t woken = TID;
	const struct perf_record_sample waker = {
		.pid = PID + 7, .tid = PID + 8, .time = time, .data = data, .data_size = size
	};

	data[WAKING_FLAGS_AT] = flags;
	memcpy(data + WAKING_PID_AT, &woken, sizeof(woken));
	assert_int_equal(off_cpu.backend->take_stack(&off_cpu, WAITS_WAKING, &waker,
						     (struct sample_context){ 0 }),
			 0);
}

static void test_the_waker_is_emitted(void **state)
{
	enum { TRACE_FLAG_HARDIRQ = 0x08 };
	union wire_view view;

	off_cpu.woken = (struct tracepoint_field){ WAKING_PID_AT, sizeof(uint32_t) };
	take_stack(TID, 'w');
	go(TID, 1000);
	wake(1500, 0, WAKING_SIZE);
	view = expect(WIRE_RECORD_sample); /* emitted immediately */
	assert_int_equal(view.sample.event, OFF_CPU_EVENT + 1);
	assert_int_equal(view.sample.tid, PID + 8);
	assert_int_equal(view.sample.time, 1500);
	assert_int_equal(view.sample.weight, 500);
	come(TID, 2000);
	view = expect(WIRE_RECORD_sample);
	assert_int_equal(view.sample.event, OFF_CPU_EVENT);
	assert_int_equal(view.sample.waker_tid, PID + 8);
	take_stack(TID, 'w');
	go(TID, 3000);
	wake(3500, TRACE_FLAG_HARDIRQ, WAKING_SIZE); /* the interrupted thread is not the waker */
	come(TID, 4000);
	view = expect(WIRE_RECORD_sample);
	assert_int_equal(view.sample.event, OFF_CPU_EVENT);
	assert_int_equal(view.sample.waker_tid, 0);
	take_stack(TID, 'w');
	go(TID, 5000);
	wake(5500, 0, WAKING_PID_AT + 3); /* truncated */
	come(TID, 6000);
	view = expect(WIRE_RECORD_sample);
	assert_int_equal(view.sample.waker_tid, 0);
	wake(6500, 0, WAKING_SIZE); /* already awake */
	assert_int_equal(off_cpu.n_wakeups, 1);
}

/* Wake-ups of sampled short waits stand for all, except for a remainder at the end. */
static void test_wakeups_of_short_waits_are_sampled(void **state)
{
	enum { N = 1000, WAIT = 60, STEP = 100, THRESHOLD = 100 };
	uint64_t sum = 0, n = 0;
	union wire_view view;
	uint16_t type;

	off_cpu.woken = (struct tracepoint_field){ WAKING_PID_AT, sizeof(uint32_t) };
	for (uint64_t i = 1; i <= N; i++) {
		go(TID, i * STEP);
		wake(i * STEP + WAIT, 0, WAKING_SIZE);
		come(TID, i * STEP + WAIT + 1);
	}
	while ((type = test_stream_next(&stream, &view))) {
		if (type != WIRE_RECORD_sample || view.sample.event != OFF_CPU_EVENT + 1)
			continue;
		assert_int_equal(view.sample.flags & WIRE_sample_flags_SAMPLED,
				 WIRE_sample_flags_SAMPLED);
		sum += view.sample.weight;
		n++;
	}
	assert_in_range(sum, N * WAIT - 3 * THRESHOLD, N * WAIT);
	assert_in_range(n, N * WAIT / (3 * THRESHOLD), N * WAIT / THRESHOLD);
}

/* An event of the BPF program; its threads were created at 500. */
static void emit(const struct switch_event *event)
{
	_Alignas(8) char memory[sizeof(struct perf_record_raw) + sizeof(*event)] = { 0 };
	struct perf_record_raw *raw = (void *)memory;

	raw->size = sizeof(*event);
	raw->header.type = PERF_RECORD_SAMPLE;
	raw->header.size = offsetof(struct perf_record_raw, data) + raw->size;
	memcpy(raw->data, event, sizeof(*event));
	assert_int_equal(off_cpu.backend->take_switch(&off_cpu, &raw->header, event->until), 0);
	raw->size--; /* truncated */
	assert_int_equal(off_cpu.backend->take_switch(&off_cpu, &raw->header, event->until), 0);
}

static void emit_wait(uint64_t from, uint64_t until)
{
	emit(&(struct switch_event){ .kind = SWITCH_WAITED,
				     .tid = TID,
				     .pid = PID,
				     .born = 500,
				     .from = from,
				     .until = until });
}

static void emit_end(uint64_t born, uint64_t until, struct switch_sums sums)
{
	emit(&(struct switch_event){ .kind = SWITCH_LEFT,
				     .tid = TID,
				     .pid = PID,
				     .born = born,
				     .until = until,
				     .sums = sums });
}

static void take_stack_at(uint64_t time, char content)
{
	take_stack(TID, content);
	off_cpu_find_thread(&off_cpu, TID)->stack.time = time;
}

static void test_a_wait_paired_in_the_kernel_has_its_stack(void **state)
{
	take_stack_at(1001, 'a');
	emit_wait(1000, 3000);
	expect_wait(3000, 2000, 0, 'a');
	emit_wait(4000, 5000); /* without a stack */
	take_stack_at(6001, 'b');
	emit_wait(7000, 9000); /* the stack belongs to an earlier short wait */
	emit_end(500, 9500, (struct switch_sums){ 600, 5400, 4, 400, 0 });
	expect_sum(WIRE_stack_end_SHORT_WAITS, 400);
	expect_sum(WIRE_stack_end_NO_STACK, 1000 + 2000);
	expect_time(600, 5400, 4);
	expect_nothing_more();
	assert_null(off_cpu.threads);
}

static void test_a_wait_whose_record_is_lost_is_in_the_sums(void **state)
{
	take_stack_at(1001, 'a');
	emit_wait(1000, 3000);
	expect_wait(3000, 2000, 0, 'a');
	emit_end(500, 9500, (struct switch_sums){ 600, 5400, 4, 400, 0 });
	expect_sum(WIRE_stack_end_SHORT_WAITS, 400);
	expect_sum(WIRE_stack_end_NO_STACK, 3000);
	expect_time(600, 5400, 4);
}

static void test_a_sampled_wait_stands_for_others(void **state)
{
	struct switch_event event = { .kind = SWITCH_SAMPLED,
				      .tid = TID,
				      .pid = PID,
				      .born = 500,
				      .from = 1000,
				      .until = 1050,
				      .weight = 150 };

	take_stack_at(1001, 'a');
	emit(&event);
	expect_wait(1050, 150, WIRE_sample_flags_SAMPLED, 'a');
	/* One wait's record is lost, and 100 ns are not represented by any sampled wait. */
	emit_end(500, 9500, (struct switch_sums){ 600, 400, 9, 400, 300 });
	expect_sum(WIRE_stack_end_SHORT_WAITS, 100);
	expect_sum(WIRE_stack_end_NO_STACK, 150);
	expect_time(600, 400, 9);
	expect_nothing_more();
}

static void test_a_reused_tid_inherits_nothing(void **state)
{
	take_stack_at(1001, 'a');
	emit_wait(1000, 3000);
	expect_wait(3000, 2000, 0, 'a');
	take_stack_at(3501, 'b'); /* the end of its wait is lost */
	emit_end(4000, 4500, (struct switch_sums){ 300, 200, 1, 0, 0 });
	expect_sum(WIRE_stack_end_NO_STACK, 200);
	expect_time(300, 200, 1);
	expect_nothing_more();
	assert_int_equal(off_cpu.n_contradictions, 1);
}

static void test_the_program_is_not_in_its_stacks(void **state)
{
	const uint64_t chain[] = { (uint64_t)-128, 0x100, 0x9000, 0x200, 0x300 };
	static const char kallsyms[] = "0000000000000200 t __schedule\n"
				       "0000000000000200 t alias\n"
				       "0000000000000300 T try_to_wake_up\n"
				       "0000000000000400 T schedule\n";
	struct perf_record_sample stack = { .chain = chain, .n_chain = 5 };

	switch_events_trim_stack(&off_cpu.leaving, &stack); /* the boundary is unknown */
	assert_int_equal(stack.n_chain, 5);
	off_cpu.backend->find_functions(&off_cpu, kallsyms, sizeof(kallsyms) - 1);
	switch_events_trim_stack(&off_cpu.leaving, &stack);
	assert_int_equal(stack.n_chain, 2);
	assert_int_equal(stack.chain[0], 0x200);
	switch_events_trim_stack(&off_cpu.waking, &stack);
	assert_int_equal(stack.n_chain, 1);
	assert_int_equal(stack.chain[0], 0x300);
}

/* The BPF program stores a 0 for a thread that goes off the CPU. */
static void test_a_wakeup_sampled_by_the_kernel(void **state)
{
	struct {
		struct switch_stack stack;
		char context[CONTEXT_SIZE];
	} data = { { 700, WIRE_sample_flags_SAMPLED, WIRE_context_state_READ, CONTEXT_SIZE },
		   "context" };
	const struct sample_context none = { 0 };
	const struct perf_record_sample waker = { .pid = PID + 7,
						  .tid = PID + 8,
						  .time = 1500,
						  .data = (const char *)&data,
						  .data_size = sizeof(data) };
	union wire_view view;

	assert_int_equal(off_cpu.backend->take_stack(&off_cpu, WAITS_GOING, &waker, none), 0);
	view = expect(WIRE_RECORD_sample);
	assert_int_equal(view.sample.event, OFF_CPU_EVENT + 1);
	assert_int_equal(view.sample.tid, PID + 8);
	assert_int_equal(view.sample.weight, 700);
	assert_int_equal(view.sample.flags, WIRE_sample_flags_SAMPLED);
	assert_int_equal(view.sample.context_state, WIRE_context_state_READ);
	assert_memory_equal(view.sample.thread_context.data, data.context, CONTEXT_SIZE);
	assert_null(off_cpu.threads);
	data.stack.woken_ns = 0;
	data.stack.context_size++; /* more than there is */
	assert_int_equal(off_cpu.backend->take_stack(&off_cpu, WAITS_GOING, &waker, none), 0);
	assert_int_equal(off_cpu_find_thread(&off_cpu, PID + 8)->context.state, 0);
}

/* Five thousand waits per second by two threads: ten times what one CPU may emit. */
static uint64_t wait_a_lot(uint64_t time, uint64_t each_ns, int n)
{
	for (int i = 0; i < n; i++, time += 400000) {
		for (uint32_t tid = TID; tid < TID + 2; tid++) {
			take_stack(tid, 'b');
			go(tid, time);
			come(tid, time + each_ns);
		}
		if (i % 16 == 0)
			assert_int_equal(off_cpu_emit_sums(&off_cpu, time), 0);
		give_back();
	}
	return time;
}

static void test_very_many_waits_are_summed(void **state)
{
	uint64_t emitted, time = wait_a_lot(NANOSECONDS_A_SECOND, 300000, 2500);

	assert_true(off_cpu.threshold.ns > 300000);
	emitted = off_cpu.n_samples;
	wait_a_lot(time, 300000, 1000);
	assert_in_range(off_cpu.n_samples - emitted, 1, 2 * 1000 / 5);
	assert_true(off_cpu.n_short > 2 * 1000);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define TEST_PROGRAM(function)                                                                     \
	cmocka_unit_test_setup_teardown(function, set_up_with_program, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_wait_has_the_stack_of_its_beginning),
		TEST(test_a_stack_outlives_its_ring_space),
		TEST(test_existing_threads_are_counted_from_the_start),
		TEST(test_switches_before_the_start_take_no_time),
		TEST(test_a_runnable_thread_was_preempted),
		TEST(test_unfinished_waits_are_emitted_at_the_end),
		TEST(test_short_waits_are_sampled),
		TEST(test_a_wait_without_a_stack_has_none),
		TEST(test_after_a_loss_nothing_is_assumed),
		TEST(test_a_reused_tid_is_another_thread),
		TEST(test_the_idle_task_never_waits),
		TEST(test_the_waker_is_emitted),
		TEST(test_wakeups_of_short_waits_are_sampled),
		TEST_PROGRAM(test_a_wakeup_sampled_by_the_kernel),
		TEST_PROGRAM(test_a_wait_paired_in_the_kernel_has_its_stack),
		TEST_PROGRAM(test_a_wait_whose_record_is_lost_is_in_the_sums),
		TEST_PROGRAM(test_a_sampled_wait_stands_for_others),
		TEST_PROGRAM(test_a_reused_tid_inherits_nothing),
		TEST_PROGRAM(test_the_program_is_not_in_its_stacks),
		cmocka_unit_test_setup_teardown(test_very_many_waits_are_summed, set_up_adapting,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
