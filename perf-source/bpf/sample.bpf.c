/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs at a sampling event. Decides whether the event takes a sample: the kernel drops it if the
 * result is 0. Reads the thread's context, and what lies deeper in the stack than perf copies, and
 * emits it in parts; then perf copies registers and stack, in the same interrupt.
 */
#include "perf-source/bpf/kernel-types.h"

#include "common/wire/wire.h"
#include "perf-source/bpf/followed-set.h"
#include "perf-source/bpf/read-context.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/sample-terms.h"

char gpl[] SEC("license") = "GPL";

enum {
	PAGE = 4096,
	DISTANCE_MAX = 1 << 30, /* bytes: what lies that far away is no part of this stack */
	USER_MODE = 3,		/* in the code segment of interrupted user code */
	PARTS_OF_NO_USE = 4,	/* at the begin, at the end, and before an absent page */
	RECORD_OVERHEAD = 52,	/* bytes of a record of PERF_RECORD_RAW_TYPE before our data */
	WORD = 8,		/* of which a record is a multiple */
	NANOSECONDS_A_WINDOW = 100000000,
	TIME_SHARE = 4, /* a 4th of a CPU's time, so that programs go on */
};

/* Constant once the program is loaded, so that the kernel drops what is not needed. */
const volatile struct sample_term terms[SAMPLE_TERMS_MAX];
const volatile uint32_t n_terms;
const volatile bool follows; /* else all processes count */
/* perf copies the first bytes of a stack; parts follow, up to the limit. 0: none. */
const volatile uint64_t stack_copied, stack_limit;
const volatile bool reads_contexts;

uint64_t n_skipped;

/* Bytes of parts that a ring may hold, and those that were read from each CPU's. */
uint64_t ring_bytes_max, n_read[SAMPLE_CPUS_MAX];

struct followed_set followed SEC(".maps");
struct context_places context_places SEC(".maps");

/* An event of ours of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, uint32_t);
	__type(value, int);
} sample_parts SEC(".maps");

struct reader {
	uint64_t window_since, window_ns; /* time that reading stacks took since then */
	uint64_t n_written;		  /* bytes of parts in the ring, those read included */
	struct sample_part part;
	char bytes[SAMPLE_PART_MAX]; /* of `part` */
};

/* An item for each CPU that may be there. (The kernel's own kind of that has 32 KiB an item.) */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct reader);
} readers SEC(".maps");

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
 * Where a stack ends that is deeper than perf copies; 0: it is not, or its end is not known. That
 * of the first thread ends where the process began; that of another one at its thread pointer, as
 * glibc and musl put what it points to on top of the stack. Other stacks (coroutines) have neither
 * in their mapping.
 */
static __always_inline uint64_t end_of_deep_stack(struct task_struct *task, uint64_t sp)
{
	uint64_t start = task->mm->start_stack, base = task->thread.fsbase;
	uint64_t end = sp < base && base < start ? base : start, mapped = end;

	if (end <= sp || end - sp <= stack_copied || end - sp > DISTANCE_MAX)
		return 0;
	bpf_find_vma(task, sp, note_end, &mapped, 0); /* the mapping may be busy: then trusts it */
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

struct walk {
	struct bpf_perf_event_data *context;
	struct reader *reader;
	uint64_t n_read; /* of this CPU */
	uint64_t end;
	uint32_t cut;  /* why it ends there */
	uint32_t step; /* bytes of a part */
};

/* Emits reader->part with `size` of reader->bytes. */
static __always_inline long put_part(struct bpf_perf_event_data *context, struct reader *reader,
				     uint64_t size)
{
	barrier_var(size);
	if (size > SAMPLE_PART_MAX)
		return -1;
	reader->part.size = size;
	if (bpf_perf_event_output(context, &sample_parts, BPF_F_CURRENT_CPU, &reader->part,
				  sizeof(reader->part) + size))
		return -1;
	reader->n_written += (RECORD_OVERHEAD + sizeof(reader->part) + size + WORD - 1) & -WORD;
	return 0;
}

/* Ends the parts. If not even this fits, the kernel reports a loss. */
static __always_inline long put_cut(struct walk *walk, uint32_t cut)
{
	walk->reader->part.end = cut;
	put_part(walk->context, walk->reader, 0);
	return 1;
}

/* Reads and emits the next part; 1: it was the last one. */
static long read_part(uint32_t i, void *arg)
{
	struct walk *walk = arg;
	struct reader *reader = walk->reader;
	uint64_t address = reader->part.address, left = walk->end - address, begun;
	uint64_t size = walk->step - (address & (PAGE - 1)); /* up to the end of a page */

	if (size > left)
		size = left;
	barrier_var(size); /* the verifier must see the value itself compared */
	if (size > SAMPLE_PART_MAX)
		return 1;
	if (!is_affordable(reader, &begun))
		return put_cut(walk, WIRE_stack_cut_BUDGET);
	if (reader->n_written - walk->n_read + size > ring_bytes_max)
		return put_cut(walk, WIRE_stack_cut_ROOM);
	if (bpf_probe_read_user(reader->bytes, size, (const void *)address)) {
		if (walk->step == PAGE)
			return put_cut(walk, WIRE_stack_cut_ABSENT);
		walk->step = PAGE; /* one of its pages is absent: which one? */
		return 0;
	}
	reader->part.end = size == left ? walk->cut : 0;
	if (put_part(walk->context, reader, size))
		return put_cut(walk, WIRE_stack_cut_ROOM);
	reader->part.address += size;
	reader->window_ns += bpf_ktime_get_ns() - begun;
	return size == left;
}

static __always_inline void read_deep_stack(struct bpf_perf_event_data *context,
					    struct task_struct *task, struct reader *reader,
					    uint64_t sp)
{
	struct walk walk = { context, reader, .cut = WIRE_stack_cut_END, .step = SAMPLE_PART_MAX };
	uint32_t cpu = bpf_get_smp_processor_id();

	walk.end = end_of_deep_stack(task, sp);
	if (!walk.end || cpu >= SAMPLE_CPUS_MAX)
		return;
	walk.n_read = n_read[cpu];
	if (walk.end - sp > stack_limit) {
		walk.end = sp + stack_limit;
		walk.cut = WIRE_stack_cut_LIMIT;
	}
	reader->part.kind = SAMPLE_PART_STACK;
	reader->part.address = sp + stack_copied;
	bpf_loop(stack_limit / PAGE + PARTS_OF_NO_USE, read_part, &walk, 0);
}

/* The room of a context is within the share of rings that samples have. */
static __always_inline void put_context(struct bpf_perf_event_data *context,
					struct task_struct *task, struct reader *reader)
{
	uint64_t size;
	uint32_t state = read_context(&context_places, task, reader->bytes, &size);

	if (!state)
		return;
	reader->part.kind = SAMPLE_PART_CONTEXT;
	reader->part.address = 0;
	reader->part.end = state;
	put_part(context, reader, size);
}

static __always_inline void read_memory(struct bpf_perf_event_data *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	uint32_t cpu = bpf_get_smp_processor_id();
	struct reader *reader = bpf_map_lookup_elem(&readers, &cpu);

	if (!task->mm || !reader) /* a kernel thread */
		return;
	reader->part.sp = user_stack_pointer(context, task);
	if (reads_contexts)
		put_context(context, task, reader);
	if (stack_limit)
		read_deep_stack(context, task, reader, reader->part.sp);
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
	if (reads_contexts || stack_limit)
		read_memory(context);
	return 1;
}
