/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs at a sampling event. Decides whether the event takes a sample: the kernel drops it if the
 * result is 0. Reads the thread's context and its stack, and emits them in parts; then perf emits
 * the sample with its registers, in the same interrupt. Where a part has no room in the ring the
 * sample is dropped, so each loss that the kernel counts is one sample.
 */
#include "perf-source/bpf/kernel-types.h"

#include "common/wire/wire.h"
#include "perf-source/bpf/followed-set.h"
#include "perf-source/bpf/read-budget.h"
#include "perf-source/bpf/read-context.h"
#include "perf-source/bpf/read-walk.h"
#include "perf-source/bpf/read-words.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/sample-terms.h"

char gpl[] SEC("license") = "GPL";

enum {
	PAGE = 4096,
	STEP = 15 * PAGE,	/* bytes of SAMPLE_PART_DEEPER, at most */
	DISTANCE_MAX = 1 << 30, /* bytes: what lies that far away is no part of this stack */
	/* Other mappings lie farther from the first stack (MIN_GAP of arch/x86/mm/mmap.c). */
	FIRST_STACK_DISTANCE = 128 << 20,
	USER_MODE = 3,	     /* in the code segment of interrupted user code */
	PARTS_OF_NO_USE = 4, /* at the begin, at the end, and before an absent page */
};

/* Constant once the program is loaded, so that the kernel drops what is not needed. */
const volatile struct sample_term terms[SAMPLE_TERMS_MAX];
const volatile uint32_t n_terms;
const volatile bool follows; /* else all processes count */
/* Bytes of a stack whose end is not known, and of any other. 0: perf copies stacks, not we. */
const volatile uint64_t stack_size, stack_limit;
const volatile bool reads_contexts, reads_walks;
/* Stacks are walked here, if that can be. Of so many one is copied as well; 0: none is. */
const volatile bool walks_stacks;
const volatile uint32_t judged_every;

uint64_t n_skipped;
uint64_t n_left[UNWIND_LEFT_N]; /* of samples that the walk left to be copied */
struct ring_share share;

struct followed_set followed SEC(".maps");
struct context_places context_places SEC(".maps");
struct walk_programs walk_programs SEC(".maps");
struct walk_seen walk_seen SEC(".maps");
struct walk_codes walk_codes SEC(".maps");

/* Those of walks by unwind tables. All but the last two are written to by perf-source alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, UNWIND_PROCESSES_MAX);
	__type(key, uint32_t);
	__type(value, struct unwind_process);
} unwind_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_MAPPINGS_MAX);
	__type(key, uint32_t);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_IMAGES_MAX);
	__type(key, uint32_t);
	__type(value, struct unwind_image);
} unwind_images SEC(".maps");

/* A table as it is in memory, in words. */
struct unwind_table_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint64_t);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_IMAGES_MAX);
	__type(key, uint32_t);
	__array(values, struct unwind_table_map);
} unwind_tables SEC(".maps");

/* Of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct words_walk);
} words_walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct words_cache);
} words_caches SEC(".maps");

/* An event of ours of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, uint32_t);
	__type(value, int);
} parts SEC(".maps");

/* What changes from part to part. In a map, as the verifier follows values on the stack. */
struct stack_state {
	uint64_t end;	  /* of what is to be read */
	uint64_t size;	  /* of the first part, */
	uint64_t n_read;  /* of which that much has been read */
	uint32_t cut;	  /* why it ends there */
	uint32_t step;	  /* bytes of another part */
	uint32_t is_lost; /* a part had no room in the ring */
};

struct reader {
	struct read_budget budget;
	struct stack_state state;
	struct sample_part part;
	char bytes[SAMPLE_PART_MAX + PAGE]; /* of `part`, and room for a page behind any of them */
};

/* An item for each CPU that may be there. (The kernel's own kind of that has 32 KiB an item.) */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct reader);
} readers SEC(".maps");

/* Likewise. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk_work);
} walk_works SEC(".maps");

#include "perf-source/bpf/walk-callbacks.h" /* needs the maps */

static __always_inline bool has_comm(const volatile struct sample_term *term)
{
	/* Linux 6.1 writes no further than the comm's end. */
	uint64_t comm[SAMPLE_COMM_SIZE / sizeof(uint64_t)] = { 0 };

	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == term->comm_words[0] && comm[1] == term->comm_words[1];
}

/* Whether the current task is the one of a term. */
static __always_inline bool matches(const volatile struct sample_term *term)
{
	switch (term->field) {
	case SAMPLE_PID:
		return bpf_get_current_pid_tgid() >> PID_SHIFT == term->number;
	case SAMPLE_TID:
		return (uint32_t)bpf_get_current_pid_tgid() == term->number;
	case SAMPLE_UID:
		return (uint32_t)bpf_get_current_uid_gid() == term->number;
	case SAMPLE_GID:
		return bpf_get_current_uid_gid() >> PID_SHIFT == term->number;
	case SAMPLE_COMM:
		return has_comm(term);
	default:
		return bpf_get_current_ancestor_cgroup_id(term->level) == term->number;
	}
}

/* Each group needs a term that holds. */
static __always_inline bool is_wanted(void)
{
	bool holds = false;

	for (uint32_t i = 0; i < SAMPLE_TERMS_MAX && i < n_terms; i++) {
		holds = holds || matches(&terms[i]) == terms[i].is_equal;
		if (!terms[i].ends_group)
			continue;
		if (!holds)
			return false;
		holds = false;
	}
	return true;
}

static __always_inline bool is_followed(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT;

	return bpf_map_lookup_elem(&followed, &pid);
}

/* Registers of user space. */
struct user_registers {
	uint64_t sp, bp, ip, r13, cx, dx;
};

static __always_inline struct user_registers user_registers(struct bpf_perf_event_data *context,
							    struct task_struct *task)
{
	/* volatile: the verifier wants to see whose field is read, so nothing may be merged. */
	const volatile bpf_user_pt_regs_t *interrupted = &context->regs;
	const struct pt_regs___kernel *entered;
	struct user_registers ret = { interrupted->rsp, interrupted->rbp, interrupted->rip,
				      interrupted->r13, interrupted->rcx, interrupted->rdx };

	if ((interrupted->cs & USER_MODE) == USER_MODE)
		return ret;
	entered = (const struct pt_regs___kernel *)bpf_task_pt_regs(task);
	return (struct user_registers){ entered->sp,  entered->bp, entered->ip,
					entered->r13, entered->cx, entered->dx };
}

static long note_end(struct task_struct *task, struct vm_area_struct *area, void *ret)
{
	*(uint64_t *)ret = area->vm_end;
	return 0;
}

/*
 * Where the stack ends; 0: unknown. That of the first thread ends where the process began, that of
 * another one at its thread pointer, as glibc and musl put what it points to, which begins with the
 * pointer itself, on top of the stack. Other stacks (coroutines) have neither in their mapping.
 * Close to the end this needs no look: then all of the stack is within what is read.
 */
static __always_inline uint64_t end_of_stack(struct task_struct *task, uint64_t sp)
{
	uint64_t start = task->mm->start_stack, base = task->thread.fsbase, end = start;
	uint64_t self, mapped;

	if (sp < base && base < start && start - sp > FIRST_STACK_DISTANCE)
		end = base;
	if (end <= sp || end - sp > DISTANCE_MAX)
		return 0;
	if (end == base &&
	    (bpf_probe_read_user(&self, sizeof(self), (const void *)base) || self != base))
		return 0;
	mapped = end;
	if (end - sp > stack_size)
		bpf_find_vma(task, sp, note_end, &mapped, 0); /* it may be busy: then trusts it */
	if (mapped < end)
		return 0;
	return end == start ? (end | (PAGE - 1)) + 1 : end; /* argc and what follows it */
}

struct reading {
	struct bpf_perf_event_data *context;
	struct reader *reader;
};

/*
 * Emits reader->part with `size` of reader->bytes. 0 or -errno: -ENOSPC: the ring has no room, and
 * the kernel has counted a loss. Others: the CPU was offline, and its event of parts is not open
 * again yet: its samples have no parts.
 */
static __always_inline long put_part(struct bpf_perf_event_data *context, struct reader *reader,
				     uint64_t size)
{
	barrier_var(size);
	if (size > SAMPLE_PART_MAX)
		return -E2BIG;
	reader->part.size = size;
	return bpf_perf_event_output(context, &parts, BPF_F_CURRENT_CPU, &reader->part,
				     sizeof(reader->part) + size);
}

/* The same for a part that counts against the share of the ring. */
static __always_inline bool put_deeper(struct reading *reading, uint64_t size)
{
	struct reader *reader = reading->reader;
	long r = put_part(reading->context, reader, size);

	reader->state.is_lost = r == -ENOSPC;
	if (r == 0)
		reader->budget.n_written += read_record_size(size);
	return r == 0;
}

static __always_inline long put_cut(struct reading *reading, uint32_t cut)
{
	reading->reader->part.end = cut;
	put_deeper(reading, 0);
	return 1;
}

/* Reads and emits the next part; 1: it was the last one. */
static long read_part(uint32_t i, void *arg)
{
	struct reading *reading = arg;
	struct reader *reader = reading->reader;
	struct stack_state *state = &reader->state;
	uint64_t address = reader->part.address, left = state->end - address, begun;
	uint64_t size = state->step - (address & (PAGE - 1)); /* up to the end of a page */

	if (size > left)
		size = left;
	barrier_var(size); /* the verifier must see the value itself compared */
	if (size > SAMPLE_PART_MAX)
		return 1;
	if (!read_budget_has_time(&reader->budget, &begun))
		return put_cut(reading, WIRE_stack_cut_BUDGET);
	if (read_budget_room(&reader->budget, &share, bpf_get_smp_processor_id()) <
	    read_record_size(size))
		return put_cut(reading, WIRE_stack_cut_ROOM);
	if (bpf_probe_read_user(reader->bytes, size, (const void *)address)) {
		if (state->step == PAGE)
			return put_cut(reading, WIRE_stack_cut_ABSENT);
		state->step = PAGE; /* one of its pages is absent: which one? */
		return 0;
	}
	reader->part.end = size == left ? state->cut : 0;
	if (!put_deeper(reading, size))
		return 1;
	reader->part.address += size;
	read_budget_take_time(&reader->budget, begun);
	return size == left;
}

static long read_page(uint32_t i, void *arg)
{
	struct reader *reader = ((struct reading *)arg)->reader;
	uint64_t n = reader->state.n_read, address = reader->part.address + n;
	uint64_t size = PAGE - (address & (PAGE - 1)), left = reader->state.size - n;

	if (size > left)
		size = left;
	barrier_var(n);
	barrier_var(size);
	if (n > SAMPLE_PART_MAX || size > PAGE)
		return 1;
	barrier_var(size); /* clang 19 makes one comparison of both */
	if (!size || bpf_probe_read_user(reader->bytes + n, size, (const void *)address))
		return 1;
	reader->state.n_read = n + size;
	return 0;
}

/* Reads the first part, up to the first page that is not in memory. */
static __always_inline void read_first_part(struct reading *reading)
{
	struct reader *reader = reading->reader;
	uint64_t size = reader->state.size;

	barrier_var(size);
	if (size <= SAMPLE_PART_MAX &&
	    !bpf_probe_read_user(reader->bytes, size, (const void *)reader->part.address))
		reader->state.n_read = size;
	else
		bpf_loop(SAMPLE_PART_MAX / PAGE + 2, read_page, reading, 0);
}

/* What to read of a stack with a known end; or, with end 0, no more than perf would copy. */
static __always_inline void plan(struct stack_state *state, uint64_t sp, uint64_t end)
{
	*state = (struct stack_state){
		.end = end ? end : sp + stack_size,
		.cut = WIRE_stack_cut_END,
		.step = STEP,
	};
	if (state->end - sp > stack_limit) {
		state->end = sp + stack_limit;
		state->cut = WIRE_stack_cut_LIMIT;
	}
	state->size = state->end - sp < SAMPLE_PART_MAX ? state->end - sp : SAMPLE_PART_MAX;
}

/* Why a stack with a known end is not whole with its first part; 0: it is, or it goes on. */
static __always_inline uint32_t first_cut(const struct stack_state *state, uint64_t sp)
{
	if (state->n_read < state->size)
		return WIRE_stack_cut_ABSENT;
	return sp + state->n_read == state->end && state->cut == WIRE_stack_cut_LIMIT
		       ? WIRE_stack_cut_LIMIT
		       : 0;
}

/* False: a part is lost. */
static __always_inline bool read_stack(struct bpf_perf_event_data *context,
				       struct task_struct *task, struct reader *reader)
{
	struct reading reading = { context, reader };
	struct stack_state *state = &reader->state;
	uint64_t sp = reader->part.sp, end = end_of_stack(task, sp);
	long r;

	plan(state, sp, end);
	reader->part.kind = SAMPLE_PART_STACK;
	reader->part.address = sp;
	read_first_part(&reading);
	reader->part.end = end ? first_cut(state, sp) : 0;
	r = put_part(context, reader, state->n_read);
	if (r < 0)
		return r != -ENOSPC;
	if (!end || state->n_read < state->size || sp + state->n_read >= state->end)
		return true;
	reader->part.kind = SAMPLE_PART_DEEPER;
	reader->part.address = sp + state->n_read;
	bpf_loop(stack_limit / PAGE + PARTS_OF_NO_USE, read_part, &reading, 0);
	return !state->is_lost;
}

/* False: it is lost. */
static __always_inline bool put_context(struct bpf_perf_event_data *context,
					struct task_struct *task, struct reader *reader)
{
	uint64_t size;
	uint32_t state = read_context(&context_places, task, reader->bytes, &size);

	if (!state)
		return true;
	reader->part.kind = SAMPLE_PART_CONTEXT;
	reader->part.address = 0;
	reader->part.end = state;
	return put_part(context, reader, size) != -ENOSPC;
}

/* The walk program of the process's interpreter; NULL: none is known. */
static __always_inline struct walk_program *find_walk_program(const struct task_struct *task)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT;
	struct walk_program *program =
		reads_walks ? bpf_map_lookup_elem(&walk_programs, &pid) : NULL;

	return program && walk_is_of(program, task) ? program : NULL;
}

/* False: a part is lost. */
static __always_inline bool put_walk(struct bpf_perf_event_data *context, struct task_struct *task,
				     struct reader *reader, const struct user_registers *registers,
				     struct walk_program *program)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT, cpu = bpf_get_smp_processor_id();
	struct walk walk = { .context = context, .program = program, .bytes = reader->bytes };
	uint64_t begun;

	walk.work = bpf_map_lookup_elem(&walk_works, &cpu);
	if (!walk.work)
		return true;
	reader->part.kind = SAMPLE_PART_WALK;
	reader->part.address = 0;
	reader->part.end = 0;
	if (!read_budget_has_time(&reader->budget, &begun)) {
		reader->part.end = WIRE_walk_end_BUDGET;
		return put_part(context, reader, 0) != -ENOSPC;
	}
	walk.work->registers = (struct walk_registers){
		task->thread.fsbase, registers->bp, registers->ip, registers->r13,
		registers->cx,	     pid,	    registers->dx, task->mm->start_stack,
	};
	walk_run(&walk, &walk_callbacks, reader->part.sp,
		 read_budget_room(&reader->budget, &share, cpu));
	reader->budget.n_written += walk.work->state.n_emitted;
	read_budget_take_time(&reader->budget, begun);
	walk_count_left(&walk, &share);
	return !walk.work->state.is_lost &&
	       put_part(context, reader, walk.work->state.used) != -ENOSPC;
}

static __always_inline void copy_registers(struct bpf_perf_event_data *context,
					   struct task_struct *task, struct words_walk *walk)
{
	const volatile bpf_user_pt_regs_t *interrupted = &context->regs;
	const struct pt_regs___kernel *entered;

	if ((interrupted->cs & USER_MODE) == USER_MODE) {
		const uint64_t all[WORDS_REGISTERS] = {
			interrupted->rax, interrupted->rdx, interrupted->rcx, interrupted->rbx,
			interrupted->rsi, interrupted->rdi, interrupted->rbp, interrupted->rsp,
			interrupted->r8,  interrupted->r9,  interrupted->r10, interrupted->r11,
			interrupted->r12, interrupted->r13, interrupted->r14, interrupted->r15,
			interrupted->rip,
		};

		__builtin_memcpy(walk->registers, all, sizeof(all));
		return;
	}
	entered = (const struct pt_regs___kernel *)bpf_task_pt_regs(task);
	const uint64_t all[WORDS_REGISTERS] = {
		entered->ax,  entered->dx,  entered->cx,  entered->bx,	entered->si,  entered->di,
		entered->bp,  entered->sp,  entered->r8,  entered->r9,	entered->r10, entered->r11,
		entered->r12, entered->r13, entered->r14, entered->r15, entered->ip,
	};

	__builtin_memcpy(walk->registers, all, sizeof(all));
}

static __always_inline struct stack_words own_words(struct words_walk *walk, struct reader *reader,
						    struct words_cache *cache)
{
	return (struct stack_words){
		.walk = walk,
		.bytes = reader->bytes,
		.cache = cache,
		.mappings = &unwind_mappings,
		.images = &unwind_images,
		.tables = &unwind_tables,
	};
}

static long unwind_frame(uint32_t i, void *arg)
{
	return words_step(arg) ? 1 : 0;
}

/* A list is of the memory that the process had when it was first looked up. */
static __always_inline bool is_of_memory(struct unwind_process *process,
					 const struct task_struct *task)
{
	uint64_t memory = (uintptr_t)task->mm;

	if (!process->memory)
		process->memory = memory;
	return process->memory == memory;
}

/* Walks the stack; its words are in reader->bytes. False: it must be copied. */
static __always_inline bool walk_stack(struct bpf_perf_event_data *context,
				       struct task_struct *task, struct reader *reader,
				       struct words_walk *walk, struct words_cache *cache)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT;
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &pid);
	struct stack_words words = own_words(walk, reader, cache);
	uint64_t begun;

	walk->left = UNWIND_LEFT_PROCESS;
	if (!process || !is_of_memory(process, task))
		return false;
	walk->left = UNWIND_LEFT_LIMIT;
	if (!read_budget_has_time(&reader->budget, &begun))
		return false;
	copy_registers(context, task, walk);
	walk->pc = walk->registers[WORDS_PC];
	walk->sp = walk->registers[WORDS_SP];
	walk->fp = walk->registers[WORDS_FP];
	walk->knows_fp = walk->is_sampled = walk->is_exact = 1;
	walk->is_done = walk->used = 0;
	walk->list = process->number;
	walk->first = process->first;
	walk->n = process->n;
	walk->mapping.end = walk->mapping.start = 0;
	walk->piece_from = WORDS_NOWHERE;
	bpf_loop(WORDS_FRAMES_MAX, unwind_frame, &words, 0);
	read_budget_take_time(&reader->budget, begun);
	return walk->is_done;
}

enum words_outcome { WORDS_NONE, WORDS_PUT, WORDS_PUT_TO_BE_JUDGED, WORDS_LOST };

static __always_inline enum words_outcome put_words(struct bpf_perf_event_data *context,
						    struct task_struct *task, struct reader *reader)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct words_walk *walk = bpf_map_lookup_elem(&words_walks, &cpu);
	struct words_cache *cache = bpf_map_lookup_elem(&words_caches, &cpu);
	long r;

	if (!walk || !cache)
		return WORDS_NONE;
	if (!walk_stack(context, task, reader, walk, cache)) {
		if (walk->left < UNWIND_LEFT_N)
			__sync_fetch_and_add(&n_left[walk->left], 1);
		return WORDS_NONE;
	}
	reader->part.kind = SAMPLE_PART_WORDS;
	reader->part.address = 0;
	reader->part.end = 0;
	r = put_part(context, reader, walk->used);
	if (r < 0)
		return r == -ENOSPC ? WORDS_LOST : WORDS_NONE;
	return judged_every && ++walk->n_walked % judged_every == 0 ? WORDS_PUT_TO_BE_JUDGED
								    : WORDS_PUT;
}

/* False: a part of the sample is lost, and the sample with it. */
static __always_inline bool read_memory(struct bpf_perf_event_data *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t cpu = bpf_get_smp_processor_id();
	struct reader *reader = bpf_map_lookup_elem(&readers, &cpu);
	struct walk_program *program;
	struct user_registers registers;

	if (!task->mm || !reader) /* a kernel thread */
		return true;
	registers = user_registers(context, task);
	reader->part.sp = registers.sp;
	if (reads_contexts && !put_context(context, task, reader))
		return false;
	program = find_walk_program(task);
	if (program && !put_walk(context, task, reader, &registers, program))
		return false;
	if (walks_stacks && program) { /* what is on the stack tells its functions apart */
		__sync_fetch_and_add(&n_left[UNWIND_LEFT_SCRIPT], 1);
	} else if (walks_stacks) {
		enum words_outcome outcome = put_words(context, task, reader);

		if (outcome == WORDS_PUT || outcome == WORDS_LOST)
			return outcome == WORDS_PUT;
	}
	return !stack_size || read_stack(context, task, reader);
}

SEC("perf_event")
int at_sample(struct bpf_perf_event_data *context)
{
	if (follows && !is_followed())
		return 0;
	if (!is_wanted()) {
		__sync_fetch_and_add(&n_skipped, 1);
		return 0;
	}
	return !(reads_contexts || stack_size) || read_memory(context);
}

/* The mappings of a process that executes another program are gone. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(at_exec, struct task_struct *task)
{
	uint32_t pid = task->tgid;

	bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}
