/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairs the waits of all threads at tracepoints of the scheduler (switch-program.h). Arguments of
 * the tracepoints: include/trace/events/sched.h of Linux.
 */
#include "perf-source/bpf/kernel-types.h"

#include "common/wire/wire.h"
#include "perf-source/bpf/read-budget.h"
#include "perf-source/bpf/read-context.h"
#include "perf-source/bpf/read-walk.h"
#include "perf-source/bpf/switch-state.h"

enum {
	/* Of a task. With stacks of 32 KiB (KASAN), hardly any waker is recognized. */
	KERNEL_STACK_SIZE = 16 * 1024,
};

/* The kernel gives helpers that read tracing data only to programs under the GPL. */
char gpl[] SEC("license") = "GPL";

struct switch_settings settings;
const volatile bool reads_contexts, reads_walks;

struct context_places context_places SEC(".maps");
struct walk_programs walk_programs SEC(".maps");
struct walk_seen walk_seen SEC(".maps");
struct walk_codes walk_codes SEC(".maps");
struct ring_share share;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SWITCH_THREADS_MAX);
	__type(key, uint32_t); /* a TID */
	__type(value, struct switch_thread);
} threads SEC(".maps");

/* Events of ours of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, uint32_t);
	__type(value, int);
} stacks SEC(".maps"), events SEC(".maps"), parts SEC(".maps");

/* What is emitted with a stack; interrupts are off meanwhile. */
struct emitted_stack {
	struct switch_stack stack;
	char context[WIRE_THREAD_CONTEXT_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct emitted_stack);
} emitted_stacks SEC(".maps");

/* Not in place: programs have 512 bytes of stack, with all that they call, and this is half of it.
 */
static __noinline void add_thread(uint32_t tid, uint32_t pid, enum switch_state state,
				  uint64_t begun, uint64_t how)
{
	struct switch_thread thread = {
		.born = begun,
		.since = begun,
		.window_since = begun,
		.state = state,
		.pid = pid,
	};

	bpf_map_update_elem(&threads, &tid, &thread, how);
}

/*
 * Finds a thread. An unknown one is added: it has been in `state` since the beginning, or since it
 * was created (threads of io_uring are not reported at creation). Returns NULL if there is no room;
 * `begun` is then `now`, as a thread that is unknown later may have been refused before.
 */
static struct switch_thread *find_thread(uint32_t tid, const struct task_struct *task,
					 enum switch_state state, uint64_t now)
{
	struct switch_thread *thread = bpf_map_lookup_elem(&threads, &tid);
	uint64_t begun = settings.begun, created;

	if (thread)
		return thread;
	created = task->start_time;
	add_thread(tid, task->tgid, state, created > begun ? created : begun, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread) {
		__sync_fetch_and_add(&settings.n_refused, 1);
		settings.begun = now;
	}
	return thread;
}

/* Emits an event with the thread's state, until `now`. */
static __always_inline void emit(void *ctx, const struct switch_thread *thread, uint32_t tid,
				 enum switch_event_kind kind, uint64_t now, uint64_t weight)
{
	struct switch_event event = {
		.kind = kind,
		.tid = tid,
		.pid = thread->pid,
		.flags = thread->flags,
		.born = thread->born,
		.waker = thread->waker,
		.from = thread->since,
		.until = now,
		.weight = weight,
		.sums = thread->sums,
	};

	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &event, sizeof(event));
}

struct emitted_walk {
	struct read_budget budget;
	struct sample_part part;
	char bytes[SAMPLE_PART_MAX];
};

/* An item for each CPU that may be there. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct emitted_walk);
} emitted_walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk_work);
} walk_works SEC(".maps");

#include "perf-source/bpf/walk-callbacks.h" /* needs the maps */

static __always_inline void put_walk(void *ctx, struct emitted_walk *emitted, uint64_t size)
{
	barrier_var(size);
	if (size > SAMPLE_PART_MAX)
		return;
	emitted->part.size = size;
	bpf_perf_event_output(ctx, &parts, BPF_F_CURRENT_CPU, &emitted->part,
			      sizeof(emitted->part) + size);
}

/* Runs a walk program within the CPU's budget. */
static __always_inline void run_walk(void *ctx, struct walk *walk, struct emitted_walk *emitted,
				     uint64_t begun)
{
	struct walk_state *state = &walk->work->state;

	walk_run(walk, &walk_callbacks, emitted->part.sp,
		 read_budget_room(&emitted->budget, &share, bpf_get_smp_processor_id()));
	emitted->budget.n_written += state->n_emitted;
	read_budget_take_time(&emitted->budget, begun);
	walk_count_left(walk, &share);
	if (!state->is_lost)
		put_walk(ctx, emitted, state->used);
}

/* Emits what the thread's interpreter executes, in front of its stack. */
static __always_inline void emit_walk(void *ctx, struct task_struct *task)
{
	uint32_t pid = task->tgid, cpu = bpf_get_smp_processor_id();
	struct emitted_walk *emitted = bpf_map_lookup_elem(&emitted_walks, &cpu);
	const struct pt_regs___kernel *registers = (const void *)bpf_task_pt_regs(task);
	struct walk walk = { .context = ctx };
	uint64_t begun;

	walk.program = bpf_map_lookup_elem(&walk_programs, &pid);
	walk.work = bpf_map_lookup_elem(&walk_works, &cpu);
	if (!emitted || !walk.program || !walk.work || !walk_is_of(walk.program, task))
		return;
	walk.bytes = emitted->bytes;
	walk.work->registers = (struct walk_registers){
		.thread = task->thread.fsbase,
		.frame = registers->bp,
		.instruction = registers->ip,
		.pid = pid,
		.of_list = registers->dx,
		.first_stack = task->mm->start_stack,
	};
	emitted->part = (struct sample_part){
		.sp = registers->sp,
		.kind = SAMPLE_PART_WALK,
	};
	if (read_budget_has_time(&emitted->budget, &begun)) {
		run_walk(ctx, &walk, emitted, begun);
	} else {
		emitted->part.end = WIRE_walk_end_BUDGET;
		put_walk(ctx, emitted, 0);
	}
}

/* Emits the current stack, and the context of its thread. */
static __always_inline void emit_stack(void *ctx, uint64_t woken_ns, uint64_t flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t zero = 0;
	struct emitted_stack *emitted = bpf_map_lookup_elem(&emitted_stacks, &zero);
	uint64_t size = 0;

	if (!emitted)
		return;
	if (reads_walks && task->mm)
		emit_walk(ctx, task);
	emitted->stack = (struct switch_stack){ .woken_ns = woken_ns, .flags = flags };
	if (reads_contexts && task->mm)
		emitted->stack.context_state =
			read_context(&context_places, task, emitted->context, &size);
	barrier_var(size); /* the verifier must see the value itself compared */
	if (size > sizeof(emitted->context))
		return;
	emitted->stack.context_size = size;
	bpf_perf_event_output(ctx, &stacks, BPF_F_CURRENT_CPU, emitted,
			      sizeof(emitted->stack) + size);
}

/*
 * Adds a wait to the short waits of a thread. If it crosses the next sampling point, returns what
 * it represents, in whole gaps, and chooses the next gap: at random, one to two thresholds.
 */
static __always_inline uint64_t cross(struct short_waits *waits, uint64_t ns, uint64_t threshold)
{
	uint64_t gap = waits->gap_ns, rest;

	ns += waits->pending_ns;
	waits->pending_ns = ns;
	if (ns < gap)
		return 0;
	rest = gap ? ns % gap : ns;
	waits->pending_ns = rest;
	waits->gap_ns = threshold + bpf_get_prandom_u32() % threshold;
	return ns - rest;
}

/* wait_threshold_sample() of wait-threshold.h; a wait looked at represents those passed by, too. */
static __always_inline void end_short_wait(void *ctx, struct switch_thread *thread, uint32_t tid,
					   uint64_t now, uint64_t threshold)
{
	struct switch_sums *sums = &thread->sums;
	uint64_t ns = now - thread->since, weight;

	sums->short_ns += ns;
	thread->passed++;
	if (!thread->is_looked_at)
		return;
	weight = cross(&thread->short_waits, ns * thread->passed, threshold);
	thread->passed = 0;
	if (weight > sums->short_ns - sums->sampled_ns)
		weight = sums->short_ns - sums->sampled_ns;
	if (!weight)
		return;
	sums->sampled_ns += weight;
	emit(ctx, thread, tid, SWITCH_SAMPLED, now, weight);
}

/* How often the time of a window must be doubled to reach SWITCH_WINDOW_NS. */
static __always_inline uint64_t thinning_of(uint64_t window_ns)
{
	uint64_t n = 0;

	while (n < SWITCH_THINNING_MAX && window_ns < SWITCH_WINDOW_NS >> n)
		n++;
	return n;
}

/* At the end of a window, decides how many of the stacks are worth their price. */
static __always_inline void look_at_window(struct switch_thread *thread, uint64_t ns, uint64_t now)
{
	uint64_t elapsed = now - thread->window_since;
	bool is_worth_it;

	thread->window_n++;
	thread->window_ns += ns;
	if (elapsed < SWITCH_WINDOW_NS && thread->window_n < SWITCH_WINDOW_WAITS)
		return;
	is_worth_it = thread->window_long_ns * SWITCH_LONG_SHARE > thread->window_ns;
	thread->thinning = is_worth_it ? 0 : thinning_of(elapsed);
	thread->window_n = 0;
	thread->window_ns = 0;
	thread->window_long_ns = 0;
	thread->window_since = now;
}

/* Ends a thread's wait. Its waker is of this wait alone. */
static __always_inline void end_wait(void *ctx, struct switch_thread *thread, uint32_t tid,
				     uint64_t now)
{
	uint64_t threshold = settings.threshold_ns; /* may change meanwhile */
	uint64_t ns = now - thread->since;

	thread->sums.off_ns += ns;
	thread->sums.n_waits++;
	if (ns >= threshold) {
		thread->window_long_ns += ns;
		emit(ctx, thread, tid, SWITCH_WAITED, now, 0);
	} else {
		end_short_wait(ctx, thread, tid, now, threshold);
	}
	look_at_window(thread, ns, now);
	thread->waker = 0;
	thread->since = now;
}

/*
 * CPU time since the thread's last known switch, by the scheduler's own account, which also covers
 * missed switches.
 */
static __always_inline uint64_t take_runtime(struct switch_thread *thread,
					     const struct task_struct *task, uint64_t now)
{
	uint64_t runtime = task->se.sum_exec_runtime, before = thread->runtime;
	uint64_t ran = runtime > before ? runtime - before : 0, elapsed = now - thread->since;

	thread->runtime = runtime;
	return ran < elapsed ? ran : elapsed;
}

/* Counts a thread's run. If its switch in was missed, it came as long ago as it ran. */
static __always_inline void run_until(void *ctx, struct switch_thread *thread, uint32_t tid,
				      const struct task_struct *task, uint64_t now)
{
	uint64_t ran = take_runtime(thread, task, now);

	if (thread->state != SWITCH_RUNNING) {
		__sync_fetch_and_add(&settings.n_contradictions, 1);
		end_wait(ctx, thread, tid, now - ran);
	}
	thread->sums.on_ns += now - thread->since;
	thread->since = now;
}

/* Ends a thread's wait. If its switch out was missed, it first ran, then waited. */
static __always_inline void wait_until(void *ctx, struct switch_thread *thread, uint32_t tid,
				       const struct task_struct *task, uint64_t now)
{
	uint64_t ran = take_runtime(thread, task, now);

	if (thread->state != SWITCH_AWAY) {
		__sync_fetch_and_add(&settings.n_contradictions, 1);
		thread->sums.on_ns += ran;
		thread->since += ran;
		thread->flags = 0;
		thread->is_looked_at = 0;
	}
	end_wait(ctx, thread, tid, now);
	thread->state = SWITCH_RUNNING;
}

/* Chooses one wait in 2^thinning, at random distances. */
static __always_inline bool choose(struct switch_thread *thread)
{
	thread->is_looked_at = !thread->to_pass;
	if (thread->to_pass)
		thread->to_pass--;
	else
		thread->to_pass = bpf_get_prandom_u32() % ((2ULL << thread->thinning) - 1);
	return thread->is_looked_at;
}

/* The thread is still the current one at sched_switch, so the stack is that of its wait. */
static __always_inline void leave(void *ctx, struct task_struct *task, bool could_go_on,
				  uint64_t now)
{
	uint32_t tid = task->pid;
	struct switch_thread *thread;

	if (!tid) /* the idle task */
		return;
	thread = find_thread(tid, task, SWITCH_RUNNING, now);
	if (!thread || thread->state == SWITCH_ENDED)
		return;
	run_until(ctx, thread, tid, task, now);
	thread->state = SWITCH_AWAY;
	thread->flags = could_go_on ? WIRE_sample_flags_PREEMPTED : 0;
	if (choose(thread))
		emit_stack(ctx, 0, 0);
}

static __always_inline void come(void *ctx, struct task_struct *task, uint64_t now)
{
	uint32_t tid = task->pid;
	struct switch_thread *thread;

	if (!tid)
		return;
	thread = find_thread(tid, task, SWITCH_AWAY, now);
	if (thread && thread->state != SWITCH_ENDED)
		wait_until(ctx, thread, tid, task, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempts, struct task_struct *previous, struct task_struct *next,
	     unsigned previous_state)
{
	uint64_t now = bpf_ktime_get_ns();

	leave(ctx, previous, preempts || !previous_state /* TASK_RUNNING */, now);
	come(ctx, next, now);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(at_fork, struct task_struct *parent, struct task_struct *child)
{
	add_thread(child->pid, child->tgid, SWITCH_AWAY, bpf_ktime_get_ns(), BPF_ANY);
	return 0;
}

/* Sums until now are of the old program. Only one thread is left, with the main thread's TID. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(at_exec, struct task_struct *task, int old_tid)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t tid = old_tid;
	struct switch_thread *thread = find_thread(tid, task, SWITCH_RUNNING, now);

	if (!thread)
		return 0;
	run_until(ctx, thread, tid, task, now);
	emit(ctx, thread, tid, SWITCH_LEFT, now, 0);
	bpf_map_delete_elem(&threads, &tid);
	add_thread(task->pid, task->tgid, SWITCH_RUNNING, now, BPF_ANY);
	return 0;
}

/* The thread's remaining switches do not count. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(at_exit, struct task_struct *task)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t tid = task->pid;
	struct switch_thread *thread = find_thread(tid, task, SWITCH_RUNNING, now);

	if (!thread)
		return 0;
	run_until(ctx, thread, tid, task, now);
	emit(ctx, thread, tid, SWITCH_LEFT, now, 0);
	thread->state = SWITCH_ENDED;
	return 0;
}

/*
 * Whether the current task wakes, and not an interrupt, which may use another stack than the task's
 * (the context lies on the stack in use), or the task's if it interrupts user code (x86-64:
 * call_on_irqstack_cond() of Linux). Registers there are of no system call; nor are those of an
 * exception, so a waker by page fault is not recorded. Other machines need no such check.
 */
static __always_inline bool is_of_task(void *ctx, struct switch_thread *thread,
				       struct task_struct *current)
{
	const struct pt_regs___kernel *registers;

	/* A pointer becomes a number only by way of a map. */
	*(void *volatile *)&thread->place = ctx;
	if (*(volatile uint64_t *)&thread->place - (uint64_t)current->stack >= KERNEL_STACK_SIZE)
		return false;
	registers = (const void *)bpf_task_pt_regs(current);
	return !bpf_core_field_exists(registers->orig_ax) || registers->orig_ax >= 0;
}

/*
 * Emits the waker's stack if the wait until now was long, or crosses the next sampling point. Waits
 * until a wake-up have their own points, as they lack the time that a thread waits for a CPU. The
 * stack is emitted at one place: the kernel verifies each by itself.
 */
static __always_inline void emit_waker_stack(void *ctx, struct switch_thread *thread)
{
	uint64_t now = bpf_ktime_get_ns(), since = thread->since, ns = now - since;
	uint64_t threshold = settings.threshold_ns, represented = ns, flags = 0;

	if (now <= since)
		return;
	if (ns < threshold) {
		represented =
			cross(&thread->woken_short_waits, ns * (thread->passed + 1), threshold);
		flags = WIRE_sample_flags_SAMPLED;
	}
	if (represented)
		emit_stack(ctx, represented, flags);
}

/*
 * The current thread ends the wait of another one. Skips a thread that is only about to be switched
 * out: its waker could be taken for that of a later wait. Skips waits whose stack is not taken, as
 * they are not emitted themselves.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(at_waking, struct task_struct *task)
{
	uint32_t tid = task->pid;
	struct switch_thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (!thread || thread->state != SWITCH_AWAY || !thread->is_looked_at ||
	    !is_of_task(ctx, thread, bpf_get_current_task_btf()))
		return 0;
	thread->waker = bpf_get_current_pid_tgid();
	if (thread->waker) /* not the idle task */
		emit_waker_stack(ctx, thread);
	return 0;
}
