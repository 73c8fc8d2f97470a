/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole recording in memory: every sample with its time, thread and stack. Stacks are nodes of
 * one tree, whose edges are locations: a place of a file, with the functions that are there. What
 * is to be written once all is known is made of this.
 *
 * No sample is left out for want of room. Where there is none for nodes, the rarest stacks of those
 * processes that have the most give way (prune.h): their samples stay with their thread, and end
 * with "more-stacks-than-fit". Where there is none for samples, those of the same thread and stack
 * that are close in time become one (merge.h). And where there is none for threads, a process has
 * one more, for all that are too many.
 */
#pragma once

#include "profile/node-index.h"
#include "profile/stacks.h"

/* With all of these full, a profile takes 700 MiB; half of that are samples. */
enum {
	PROFILE_SAMPLES_MAX = 1 << 23,
	PROFILE_NODES_MAX = 1 << 22,
	PROFILE_LOCATIONS_MAX = 1 << 20,
	PROFILE_CALLS_MAX = 1 << 22, /* at all locations */
	PROFILE_THREADS_MAX = 1 << 20,
	PROFILE_PROCESSES_MAX = 1 << 19,
	PROFILE_MODULES_MAX = 1 << 18,
	PROFILE_LOSSES_MAX = 1 << 20,
	PROFILE_COUNTERS_MAX = 1024,
	PROFILE_MARKS_MAX = 1 << 20,
	PROFILE_COUNTER_VALUES_MAX = 1 << 22,
};

enum profile_location_kind {
	PROFILE_USER,
	PROFILE_KERNEL,
	PROFILE_JIT,
	PROFILE_CUT, /* no code, but why a stack ends; its outermost "frame" */
};

/* A function, and where in it. */
struct profile_call {
	uint32_t name; /* see names.h; without a mark, and what it means by now once all is over */
	struct source_line line;
};

struct profile_location {
	uint64_t offset; /* in the module's file; in the kernel and without a module, the address */
	uint32_t module; /* an index; 0: none */
	uint32_t label;	 /* of names.h */
	uint32_t first_call,
		n_calls; /* the function, then what was inlined into it, to the inmost */
	enum profile_location_kind kind;
};

struct profile_module {
	uint64_t image;
	uint32_t path, build_id; /* names; 0: not known */
};

struct profile_process {
	uint64_t number; /* of the incarnation */
	uint32_t pid, name;
	uint32_t cgroup, container, unit; /* names; 0: not known, or none (cgroup.h) */
	uint32_t crowd; /* the thread of those that are too many: its index + 1; 0: none */
};

struct profile_thread {
	uint32_t process, tid, name;
	uint64_t on_ns, off_ns, n_waits; /* as told, whatever samples there are */
};

struct profile_sample {
	uint64_t time;	 /* of the first, where it is several */
	uint64_t n;	 /* samples that it is */
	uint64_t weight; /* of all of them */
	uint32_t node, thread;
	uint32_t waker;		      /* of a wait: a thread's index + 1; 0: not known */
	uint8_t end;		      /* enum wire_stack_end */
	uint8_t event : 5, flags : 3; /* below EVENTS_MAX; enum wire_sample_flags */
};

struct profile_counter {
	uint32_t category, name, description; /* names */
	uint32_t divisor;		      /* of its values; 0: it was not told */
};

struct profile_counter_value {
	uint64_t time, value;
	uint32_t counter; /* its number */
};

struct profile_mark {
	uint64_t time, duration;    /* its end */
	uint32_t group, name, text; /* names; 0: none */
	uint32_t process;	    /* an index + 1; 0: nobody's */
	uint32_t tid;		    /* 0: not known */
};

struct profile_loss {
	uint64_t time, n;
	uint32_t cpu;
};

/* How much there is room for; but for tests, PROFILE_…_MAX. */
struct profile_limits {
	size_t samples, nodes, locations, calls, threads, processes;
};

struct profile {
	struct stacks *stacks; /* borrowed; whose names these are */
	struct profile_limits limits;
	struct profile_location *locations;
	struct profile_call *calls;
	struct profile_module *modules; /* the first is none */
	struct node *nodes;		/* their locations */
	struct profile_process *processes;
	struct profile_thread *threads;
	struct profile_sample *samples;
	struct profile_loss *losses;
	struct profile_counter *counters; /* by number; the first is none */
	struct profile_counter_value *counter_values;
	struct profile_mark *marks;
	size_t n_locations, n_calls, n_modules, n_nodes, n_processes, n_threads, n_samples,
		n_losses, n_counters, n_counter_values, n_marks;
	uint64_t n_taken;   /* samples that came; those that are there are as many */
	uint64_t n_unknown; /* others: of an event of which nobody told */
	uint64_t n_crowded; /* whose thread or process had no room of its own */
	bool has_repeats;   /* a sample may be several */
	bool holds_still;   /* others know nodes and samples by their numbers: none may change */
	uint32_t crowd;	    /* the process of those that are too many: its index + 1; 0: none */
	struct pair_map location_of_place, module_of_image, process_of_number, thread_of_tid;
	struct node_index node_index;
	uint32_t path[WIRE_FRAMES_MAX + 1]; /* the nodes of the last stack, the outermost first */
	size_t n_path;
};

/* 0 or -ENOMEM */
int profile_init(struct profile *profile, struct stacks *stacks);
void profile_deinit(struct profile *profile);

/*
 * The location of a frame, for stacks.h's `add_frame`. 0 or -ENOMEM; beyond the limits it is 0, and
 * there is no room for stacks with it.
 */
int profile_add_frame(struct profile *profile, const struct wire_frame *frame,
		      const struct frame_name *name, uint64_t *ret_location);

/*
 * A sample whose frames' values are locations. 0 or -ENOMEM; `ret_node` is where its stack is, 0 if
 * it has no frames, or nodes have new numbers since. The other takes that node instead of the
 * frames.
 */
int profile_add_stack(struct profile *profile, const struct named_stack *stack, uint64_t *ret_node);
int profile_add_known_stack(struct profile *profile, const struct named_stack *stack,
			    uint32_t node);

/*
 * Where a stack is, and whose it is, without a sample of it; nodes keep their numbers from then on.
 * 0 or -ENOMEM; node 0: it has no frames.
 */
int profile_find_stack(struct profile *profile, const struct named_stack *stack, uint32_t *ret_node,
		       uint32_t *ret_thread);

/* Samples that were made up of what is known of a node. 0 or -ENOMEM. */
int profile_add_sample(struct profile *profile, const struct profile_sample *sample);

/* Where a thread's time has gone. 0 or -ENOMEM. */
int profile_add_thread_time(struct profile *profile, const struct wire_thread_time *record);

/* Each 0 or -ENOMEM; what is beyond the limits is left out. */
int profile_add_mark(struct profile *profile, const struct wire_mark *mark);
int profile_add_counter(struct profile *profile, const struct wire_counter *counter);
int profile_add_counter_values(struct profile *profile, const struct wire_counter_values *values);

int profile_add_lost(struct profile *profile, const struct wire_lost *lost);

/* Forgets the first `n` samples; what they were made of stays. */
void profile_drop_samples(struct profile *profile, size_t n);

/*
 * All is known: names are what they mean, and what was refused is counted. 0; -ENOTRECOVERABLE: the
 * samples are not those that came, which is a defect of ours.
 */
int profile_settle(struct profile *profile, struct stage *stage);

/* What all samples are in a view. */
uint64_t profile_sum(const struct profile *profile, struct view view);

/*
 * At the end of whatever writes all samples of a view: -ENOTRECOVERABLE if what it has put is not
 * what they are, which is a defect of ours.
 */
int profile_check_sum(const struct profile *profile, struct view view, uint64_t n_put);

/* What a sample is in a view; 0: it is not in it. */
static inline uint64_t profile_amount(const struct profile *profile, struct view view,
				      const struct profile_sample *sample)
{
	return view_amount(&profile->stacks->events, view, sample->event, sample->n,
			   sample->weight);
}

static inline const char *profile_text(const struct profile *profile, uint32_t name)
{
	return name ? names_text(&profile->stacks->names, name) : "";
}
