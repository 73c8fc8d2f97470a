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
#include "perf-source/bpf/read-context.h"
#include "perf-source/bpf/read-walk.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/sample-terms.h"

char gpl[] SEC("license") = "GPL";

enum {
	PAGE = 4096,
	STEP = 15 * PAGE,	/* bytes of SAMPLE_PART_DEEPER, at most */
	DISTANCE_MAX = 1 << 30, /* bytes: what lies that far away is no part of this stack */
	/* Other mappings lie farther from the first stack (MIN_GAP of arch/x86/mm/mmap.c). */
	FIRST_STACK_DISTANCE = 128 << 20,
	USER_MODE = 3,	      /* in the code segment of interrupted user code */
	PARTS_OF_NO_USE = 4,  /* at the begin, at the end, and before an absent page */
	RECORD_OVERHEAD = 52, /* bytes of a record of PERF_RECORD_RAW_TYPE before our data */
	WORD = 8,	      /* of which a record is a multiple */
	NANOSECONDS_A_WINDOW = 100000000,
	TIME_SHARE = 4, /* a 4th of a CPU's time, so that programs go on */
};

/* Constant once the program is loaded, so that the kernel drops what is not needed. */
const volatile struct sample_term terms[SAMPLE_TERMS_MAX];
const volatile uint32_t n_terms;
const volatile bool follows; /* else all processes count */
/* Bytes of a stack whose end is not known, and of any other. 0: perf copies stacks, not we. */
const volatile uint64_t stack_size, stack_limit;
const volatile bool reads_contexts, reads_walks;

uint64_t n_skipped;

/* Bytes of SAMPLE_PART_DEEPER that a ring may hold, and those that were read from each CPU's. */
uint64_t ring_bytes_max, n_read[SAMPLE_CPUS_MAX];

struct followed_set followed SEC(".maps");
struct context_places context_places SEC(".maps");
struct walk_programs walk_programs SEC(".maps");
struct walk_seen walk_seen SEC(".maps");

uint32_t walk_epoch; /* becomes another one if something was lost */

/* An event of ours of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, uint32_t);
	__type(value, int);
} sample_parts SEC(".maps");

struct reader {
	uint64_t window_since, window_ns; /* time that reading stacks took since then */
	uint64_t n_written;		  /* bytes of SAMPLE_PART_DEEPER so far */
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
	__type(value, struct walk_memory);
} walk_memories SEC(".maps");

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

static __always_inline uint64_t user_stack_pointer(struct bpf_perf_event_data *context,
						   struct task_struct *task)
{
	/* volatile: the verifier wants to see whose field is read, so nothing may be merged. */
	const volatile bpf_user_pt_regs_t *interrupted = &context->regs;
	uint64_t sp = interrupted->rsp;

	if ((interrupted->cs & USER_MODE) == USER_MODE)
		return sp;
	return ((const struct pt_regs___kernel *)bpf_task_pt_regs(task))->sp;
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

/* Whether there is time left to read another part; `now` becomes the time. */
static __always_inline bool is_affordable(struct reader *reader, uint64_t *now)
{
	*now = bpf_ktime_get_ns();
	if (*now - reader->window_since > NANOSECONDS_A_WINDOW) {
		reader->window_since = *now;
		reader->window_ns = 0;
	}
	return reader->window_ns <= NANOSECONDS_A_WINDOW / TIME_SHARE;
}

/* Reads a stack part by part. */
struct deeper {
	struct bpf_perf_event_data *context;
	struct reader *reader;
	uint64_t n_read; /* of this CPU */
	uint64_t end;
	uint32_t cut;  /* why it ends there */
	uint32_t step; /* bytes of a part */
	bool is_lost;  /* a part had no room in the ring */
};

/* Emits reader->part with `size` of reader->bytes. False: the kernel has counted a loss. */
static __always_inline bool put_part(struct bpf_perf_event_data *context, struct reader *reader,
				     uint64_t size)
{
	barrier_var(size);
	if (size > SAMPLE_PART_MAX)
		return false;
	reader->part.size = size;
	return bpf_perf_event_output(context, &sample_parts, BPF_F_CURRENT_CPU, &reader->part,
				     sizeof(reader->part) + size) == 0;
}

/* The same for a part that counts against the share of the ring. */
static __always_inline bool put_deeper(struct deeper *deeper, uint64_t size)
{
	struct reader *reader = deeper->reader;

	if (!put_part(deeper->context, reader, size)) {
		deeper->is_lost = true;
		return false;
	}
	reader->n_written +=
		(SAMPLE_RECORD_OVERHEAD + sizeof(reader->part) + size + WORD - 1) & -WORD;
	return true;
}

static __always_inline long put_cut(struct deeper *deeper, uint32_t cut)
{
	deeper->reader->part.end = cut;
	put_deeper(deeper, 0);
	return 1;
}

/* Reads and emits the next part; 1: it was the last one. */
static long read_part(uint32_t i, void *arg)
{
	struct deeper *deeper = arg;
	struct reader *reader = deeper->reader;
	uint64_t address = reader->part.address, left = deeper->end - address, begun;
	uint64_t size = deeper->step - (address & (PAGE - 1)); /* up to the end of a page */

	if (size > left)
		size = left;
	barrier_var(size); /* the verifier must see the value itself compared */
	if (size > SAMPLE_PART_MAX)
		return 1;
	if (!is_affordable(reader, &begun))
		return put_cut(deeper, WIRE_stack_cut_BUDGET);
	if (reader->n_written - deeper->n_read + size > ring_bytes_max)
		return put_cut(deeper, WIRE_stack_cut_ROOM);
	if (bpf_probe_read_user(reader->bytes, size, (const void *)address)) {
		if (deeper->step == PAGE)
			return put_cut(deeper, WIRE_stack_cut_ABSENT);
		deeper->step = PAGE; /* one of its pages is absent: which one? */
		return 0;
	}
	reader->part.end = size == left ? deeper->cut : 0;
	if (!put_deeper(deeper, size))
		return 1;
	reader->part.address += size;
	reader->window_ns += bpf_ktime_get_ns() - begun;
	return size == left;
}

struct pages {
	struct reader *reader;
	uint64_t address, size, n_read;
};

static long read_page(uint32_t i, void *arg)
{
	struct pages *pages = arg;
	uint64_t n = pages->n_read, address = pages->address + n, left = pages->size - n;
	uint64_t size = PAGE - (address & (PAGE - 1));

	if (size > left)
		size = left;
	barrier_var(n);
	barrier_var(size);
	if (n > SAMPLE_PART_MAX || size > PAGE || !size ||
	    bpf_probe_read_user(pages->reader->bytes + n, size, (const void *)address))
		return 1;
	pages->n_read = n + size;
	return 0;
}

/* Reads bytes up to the first page that is not in memory; returns their number. */
static __always_inline uint64_t read_bytes(struct reader *reader, uint64_t address, uint64_t size)
{
	struct pages pages = { reader, address, size };

	barrier_var(size);
	if (size <= SAMPLE_PART_MAX &&
	    !bpf_probe_read_user(reader->bytes, size, (const void *)address))
		return size;
	bpf_loop(SAMPLE_PART_MAX / PAGE + 2, read_page, &pages, 0);
	return pages.n_read;
}

/* Reads a stack on behind its first part. */
static __always_inline void read_deeper(struct deeper *deeper, uint64_t address)
{
	uint32_t cpu = bpf_get_smp_processor_id();

	if (cpu >= SAMPLE_CPUS_MAX)
		return;
	deeper->n_read = n_read[cpu];
	deeper->reader->part.kind = SAMPLE_PART_DEEPER;
	deeper->reader->part.address = address;
	bpf_loop(stack_limit / PAGE + PARTS_OF_NO_USE, read_part, deeper, 0);
}

/* Of a stack whose end is not known, no more than perf would copy. False: a part is lost. */
static __always_inline bool read_stack(struct bpf_perf_event_data *context,
				       struct task_struct *task, struct reader *reader)
{
	struct deeper deeper = { context, reader, .cut = WIRE_stack_cut_END, .step = STEP };
	uint64_t sp = reader->part.sp, end = end_of_stack(task, sp), size, n;

	deeper.end = end ? end : sp + stack_size;
	if (deeper.end - sp > stack_limit) {
		deeper.end = sp + stack_limit;
		deeper.cut = WIRE_stack_cut_LIMIT;
	}
	size = deeper.end - sp < SAMPLE_PART_MAX ? deeper.end - sp : SAMPLE_PART_MAX;
	n = read_bytes(reader, sp, size);
	reader->part.kind = SAMPLE_PART_STACK;
	reader->part.address = sp;
	reader->part.end = 0;
	if (end && n < size)
		reader->part.end = WIRE_stack_cut_ABSENT;
	else if (end && deeper.end < end && sp + n == deeper.end)
		reader->part.end = WIRE_stack_cut_LIMIT;
	if (!put_part(context, reader, n))
		return false;
	if (end && n == size && sp + n < deeper.end)
		read_deeper(&deeper, sp + n);
	return !deeper.is_lost;
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
	return put_part(context, reader, size);
}

static long read_element(uint32_t i, void *walk)
{
	return walk_read_element(walk, &walk_seen, &sample_parts);
}

/* Bytes of objects that the ring has room for. */
static __always_inline uint64_t room_of(const struct reader *reader, uint32_t cpu)
{
	uint64_t used = cpu < SAMPLE_CPUS_MAX ? reader->n_written - n_read[cpu] : 0;

	return used < ring_bytes_max ? ring_bytes_max - used : 0;
}

/* False: a part is lost. */
static __always_inline bool put_walk(struct bpf_perf_event_data *context, struct task_struct *task,
				     struct reader *reader)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT, cpu = bpf_get_smp_processor_id();
	struct walk walk = { .context = context, .bytes = reader->bytes, .pid = pid };
	uint64_t begun;

	walk.program = bpf_map_lookup_elem(&walk_programs, &pid);
	walk.memory = bpf_map_lookup_elem(&walk_memories, &cpu);
	if (!walk.program || !walk.memory || !walk_is_of(walk.program, task))
		return true;
	reader->part.kind = SAMPLE_PART_WALK;
	reader->part.address = 0;
	reader->part.end = 0;
	if (!is_affordable(reader, &begun)) {
		reader->part.end = WIRE_walk_end_BUDGET;
		return put_part(context, reader, 0);
	}
	walk.thread = task->thread.fsbase;
	walk.epoch = walk_epoch;
	walk_run(&walk, read_element, reader->part.sp, room_of(reader, cpu));
	reader->n_written += walk.memory->state.n_emitted;
	reader->window_ns += bpf_ktime_get_ns() - begun;
	return !walk.memory->state.is_lost && put_part(context, reader, walk.memory->state.used);
}

/* False: a part of the sample is lost, and the sample with it. */
static __always_inline bool read_memory(struct bpf_perf_event_data *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t cpu = bpf_get_smp_processor_id();
	struct reader *reader = bpf_map_lookup_elem(&readers, &cpu);

	if (!task->mm || !reader) /* a kernel thread */
		return true;
	reader->part.sp = user_stack_pointer(context, task);
	if (reads_contexts && !put_context(context, task, reader))
		return false;
	if (reads_walks && !put_walk(context, task, reader))
		return false;
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
