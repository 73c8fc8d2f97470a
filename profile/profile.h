/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole recording in memory, for formats that are written at its end: every sample with time,
 * thread and stack. Stacks are nodes of one tree, each with a location: a file's offset and the
 * functions there.
 *
 * No sample is left out when a limit is reached. Beyond the limit of nodes, the rarest stacks of
 * the processes with the most nodes are dropped (prune.h): their samples keep their thread and end
 * with "more-stacks-than-fit". Beyond that of samples, samples of one thread and stack that are
 * close in time are merged (merge.h). Beyond that of threads, each process has one extra thread for
 * all further ones.
 */
#pragma once

#include "profile/contexts.h"
#include "profile/node-index.h"
#include "profile/stacks.h"

/* With all of these full, a profile takes 900 MiB; nearly half of that are samples. */
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
	PROFILE_CUT,	/* no code, but the end reason of a stack, as its outermost "frame" */
	PROFILE_SCRIPT, /* code in an interpreter's language */
};

/* A function and a line in it. */
struct profile_call {
	uint32_t name; /* see names.h; without a mark; profile_settle() makes it final */
	struct source_line line;
};

struct profile_location {
	uint64_t offset; /* in the module's file; in the kernel and without a module, the address */
	uint32_t module; /* an index; 0: none */
	uint32_t label;	 /* of names.h */
	uint32_t first_call,
		n_calls; /* the function, then the calls inlined into it, down to the innermost */
	enum profile_location_kind kind;
	bool is_unnamed; /* its function only tells the place */
};

struct profile_module {
	uint64_t image;
	uint32_t path, build_id, go_build_id, file_id; /* names; 0: not known, or none */
	uint32_t language;		/* of a script: a name, as "cpython"; 0: it is none */
	struct image_segment *segments; /* of its code; owned; NULL: not known */
	size_t n_segments;
};

struct profile_process {
	uint64_t number; /* of the incarnation */
	uint32_t pid, name;
	uint32_t cgroup, container, unit;   /* names; 0: not known, or none (cgroup.h) */
	struct profile_attributes resource; /* what it has published last, as service.name */
	uint32_t crowd; /* the thread that stands for those beyond the limit: index + 1; 0: none */
};

struct profile_thread {
	uint32_t process, tid, name;
	uint64_t on_ns, off_ns, n_waits; /* as thread_time records report, independent of samples */
};

struct profile_sample {
	uint64_t time;	 /* of the first, if several were merged */
	uint64_t n;	 /* how many samples it stands for */
	uint64_t weight; /* of all of them */
	uint32_t node, thread;
	uint32_t waker;		      /* who ended the wait: a thread's index + 1; 0: not known */
	uint32_t context;	      /* index + 1; 0: none */
	uint8_t end;		      /* enum wire_stack_end */
	uint8_t event : 5, flags : 3; /* below EVENTS_MAX; enum wire_sample_flags */
};

struct profile_counter {
	uint32_t category, name, description; /* names */
	uint32_t divisor;		      /* of its values; 0: the counter was not described */
};

struct profile_counter_value {
	uint64_t time, value;
	uint32_t counter; /* its number */
};

struct profile_mark {
	uint64_t time, duration;    /* time is its end */
	uint32_t group, name, text; /* names; 0: none */
	uint32_t process;	    /* an index + 1; 0: none */
	uint32_t tid;		    /* 0: not known */
};

struct profile_loss {
	uint64_t time, n;
	uint32_t cpu;
};

/* Limits; PROFILE_…_MAX, except in tests. */
struct profile_limits {
	size_t samples, nodes, locations, calls, threads, processes;
};

struct profile {
	struct stacks *stacks; /* borrowed; owner of all names */
	struct profile_limits limits;
	struct profile_location *locations;
	struct profile_call *calls;
	struct profile_module *modules; /* the first means none */
	struct node *nodes;		/* each has a location */
	struct profile_process *processes;
	struct profile_thread *threads;
	struct profile_sample *samples;
	struct profile_loss *losses;
	struct profile_counter *counters; /* by number; entry 0 is unused */
	struct profile_counter_value *counter_values;
	struct profile_mark *marks;
	struct profile_contexts contexts;
	size_t n_locations, n_calls, n_modules, n_nodes, n_processes, n_threads, n_samples,
		n_losses, n_counters, n_counter_values, n_marks;
	uint64_t n_taken;   /* samples received; the list must add up to this */
	uint64_t n_unknown; /* samples not taken, because no event record described their event */
	uint64_t n_crowded; /* samples and other uses of a thread beyond the limit */
	bool has_repeats;   /* a sample may stand for several */
	bool holds_still;   /* callers keep node and sample numbers: never prune or merge */
	uint32_t crowd; /* the process that stands for those beyond the limit: index + 1; 0: none */
	struct pair_map location_of_place, module_of_image, process_of_number, thread_of_tid;
	struct node_index node_index;
	uint32_t path[WIRE_FRAMES_MAX + 1]; /* the nodes of the last stack, the outermost first */
	size_t n_path;
};

/* 0 or -ENOMEM */
int profile_init(struct profile *profile, struct stacks *stacks);
void profile_deinit(struct profile *profile);

/*
 * Finds or adds the location of a frame, for `add_frame` of stacks.h. 0 or -ENOMEM. The location is
 * 0 beyond the limits; stacks with it do not fit.
 */
int profile_add_frame(struct profile *profile, const struct wire_frame *frame,
		      const struct frame_name *name, uint64_t *ret_location);

/*
 * Adds a sample whose frames' values are locations. 0 or -ENOMEM. `ret_node` is the node of its
 * stack; 0: it has no frames, did not fit, or nodes were just renumbered. profile_add_known_stack()
 * takes such a node instead of frames.
 */
int profile_add_stack(struct profile *profile, const struct named_stack *stack, uint64_t *ret_node);
int profile_add_known_stack(struct profile *profile, const struct named_stack *stack,
			    uint32_t node);

/*
 * Finds the node and thread of a stack without adding a sample. Nodes keep their numbers from then
 * on. 0 or -ENOMEM; node 0: it has no frames.
 */
int profile_find_stack(struct profile *profile, const struct named_stack *stack, uint32_t *ret_node,
		       uint32_t *ret_thread);

/* Adds a sample made from a known node. 0; -ENOMEM; -ENOSPC: the limit is reached. */
int profile_add_sample(struct profile *profile, const struct profile_sample *sample);

/* Adds on-CPU and off-CPU time of a thread. 0 or -ENOMEM. */
int profile_add_thread_time(struct profile *profile, const struct wire_thread_time *record);

/* Each 0 or -ENOMEM; records beyond the limits are left out. */
int profile_add_mark(struct profile *profile, const struct wire_mark *mark);
int profile_add_counter(struct profile *profile, const struct wire_counter *counter);
int profile_add_counter_values(struct profile *profile, const struct wire_counter_values *values);

/* What programs publish (contexts.h). 0 or -ENOMEM. */
int profile_add_resource_attribute(struct profile *profile,
				   const struct wire_resource_attribute *record);
int profile_add_trace_context(struct profile *profile, const struct wire_trace_context *record);
int profile_add_trace_attribute(struct profile *profile, const struct wire_trace_attribute *record);

int profile_add_lost(struct profile *profile, const struct wire_lost *lost);

/* Drops the first `n` samples, but keeps their threads, stacks and names. */
void profile_drop_samples(struct profile *profile, size_t n);

/*
 * At the end of the stream: resolves names, sorts marks, counts refusals. 0, or -ENOTRECOVERABLE:
 * the samples do not add up to those received, which is a defect of this program.
 */
int profile_settle(struct profile *profile, struct stage *stage);

/* The sum of all samples in a view. */
uint64_t profile_sum(const struct profile *profile, struct view view);

/*
 * Writers call this at their end: -ENOTRECOVERABLE if `n_put`, the amount written, is not the
 * view's sum, which is a defect of this program.
 */
int profile_check_sum(const struct profile *profile, struct view view, uint64_t n_put);

/* The amount of a sample in a view; 0: it is not in it. */
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
