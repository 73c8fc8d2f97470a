/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/base/sum.h"
#include "common/stream/build-id.h"
#include "profile/merge.h"
#include "profile/prune.h"

/* Pseudo image numbers of locations without an image. */
#define NO_IMAGE_USER (UINT64_MAX - 1)
#define NO_IMAGE_KERNEL (UINT64_MAX - 2)
#define NO_IMAGE_CUT (UINT64_MAX - 3)

/* A frame whose caller was found without proof has a location apart from the proved one. */
#define UNPROVED_STEP (1ULL << 63)

/* Room beyond the limits, so that every end reason always has a location and a node. */
enum { ROOM_FOR_CUTS = STACKS_ENDS };

/* The largest stack, with an inlined call in each frame; of tests' small limits a quarter. */
#define ROOM_FOR_STACK(limit)                                                                      \
	((limit) / 4 < 2 * WIRE_FRAMES_MAX ? (limit) / 4 : 2 * WIRE_FRAMES_MAX)

int profile_init(struct profile *profile, struct stacks *stacks)
{
	*profile = (struct profile){
		.stacks = stacks,
		.limits = { PROFILE_SAMPLES_MAX, PROFILE_NODES_MAX, PROFILE_LOCATIONS_MAX,
			    PROFILE_CALLS_MAX, PROFILE_THREADS_MAX, PROFILE_PROCESSES_MAX },
	};
	pair_map_init(&profile->location_of_place, PROFILE_LOCATIONS_MAX + ROOM_FOR_CUTS);
	pair_map_init(&profile->module_of_image, PROFILE_MODULES_MAX);
	pair_map_init(&profile->process_of_number, PROFILE_PROCESSES_MAX);
	pair_map_init(&profile->thread_of_tid, PROFILE_THREADS_MAX);
	profile_contexts_init(&profile->contexts, &stacks->names);
	/* Entry 0 of each means none. */
	profile->locations = calloc(1, sizeof(*profile->locations));
	profile->modules = calloc(1, sizeof(*profile->modules));
	profile->nodes = calloc(1, sizeof(*profile->nodes));
	if (!profile->locations || !profile->modules || !profile->nodes)
		return -ENOMEM;
	profile->n_locations = profile->n_modules = profile->n_nodes = 1;
	return 0;
}

void profile_deinit(struct profile *profile)
{
	free(profile->locations);
	free(profile->calls);
	for (size_t i = 0; i < profile->n_modules; i++)
		free(profile->modules[i].segments);
	free(profile->modules);
	free(profile->nodes);
	free(profile->processes);
	free(profile->threads);
	free(profile->samples);
	free(profile->losses);
	free(profile->counters);
	free(profile->counter_values);
	free(profile->marks);
	profile_contexts_deinit(&profile->contexts);
	node_index_deinit(&profile->node_index);
	pair_map_deinit(&profile->location_of_place);
	pair_map_deinit(&profile->module_of_image);
	pair_map_deinit(&profile->process_of_number);
	pair_map_deinit(&profile->thread_of_tid);
	*profile = (struct profile){ 0 };
}

static uint32_t intern(struct profile *profile, const char *text)
{
	return *text ? names_intern(&profile->stacks->names, text, strlen(text)) : 0;
}

/* The language of an image of scripts, whose path is that in brackets. */
static uint32_t language_of(struct profile *profile, const struct image *image)
{
	size_t size = strlen(image->path);

	return image->kind == WIRE_image_kind_SCRIPT && size > 2
		       ? names_intern(&profile->stacks->names, image->path + 1, size - 2)
		       : 0;
}

/* Of an image that is known better now. Out of memory: where its code is stays unknown. */
static void identify(struct profile *profile, struct profile_module *module,
		     const struct image *image)
{
	size_t size = image->n_segments * sizeof(*module->segments);
	char text[BUILD_ID_TEXT];

	build_id_text(image->build_id, image->build_id_size, text);
	module->build_id = intern(profile, text);
	if (image->go_build_id)
		module->go_build_id = intern(profile, image->go_build_id);
	if (image->has_file_id) {
		file_id_text(&image->file_id, text);
		module->file_id = intern(profile, text);
	}
	if (!size || module->segments)
		return;
	module->segments = malloc(size);
	if (!module->segments)
		return;
	memcpy(module->segments, image->segments, size);
	module->n_segments = image->n_segments;
}

/*
 * The module of an image, or of a script in an image of those; 0: the limit is reached. 0 or
 * -ENOMEM.
 */
static int find_module(struct profile *profile, const struct frame_name *name, uint32_t *ret)
{
	const struct image *image = name->image;
	uint32_t language = language_of(profile, image);
	uint32_t script = language && name->place ? name->place->module : 0;
	uint64_t *known = pair_map_find(&profile->module_of_image, image->number, script);
	int r;

	*ret = known ? *known : 0;
	if (known)
		return 0;
	r = pair_map_add(&profile->module_of_image, image->number, script, profile->n_modules);
	if (r == 0)
		r = GROWING_LIST_MAKE_ROOM(profile->modules, profile->n_modules);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	profile->modules[profile->n_modules] = (struct profile_module){
		.image = image->number,
		.path = script ? script : intern(profile, image->path),
		.language = language,
	};
	identify(profile, &profile->modules[profile->n_modules], image);
	*ret = profile->n_modules++;
	return 0;
}

static int add_call(struct profile *profile, uint32_t name, struct source_line line)
{
	return GROWING_LIST_ADD(
		profile->calls, profile->n_calls,
		(struct profile_call){ names_plain(&profile->stacks->names, name), line });
}

/* Adds the functions of a location: those of its list of inlined calls, or one. 0 or -ENOMEM. */
static int add_calls(struct profile *profile, struct profile_location *location, uint32_t name,
		     struct source_line line)
{
	const struct inlined_calls *inlined = &profile->stacks->names.inlined;
	const struct source_line *lines = &line;
	const uint32_t *names = &name;
	size_t n = 1;
	int r = 0;

	if (location->label & NAMES_LIST) {
		names = inlined_calls_get(inlined, location->label & ~NAMES_LIST, &n);
		lines = inlined_calls_lines(inlined, location->label & ~NAMES_LIST);
	}
	location->first_call = profile->n_calls;
	location->n_calls = n;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_call(profile, names[i], lines[i]);
	return r;
}

/* Adds a location. It replaces an older one at the same offset that has another name. */
static int add_location(struct profile *profile, uint64_t image, uint64_t offset,
			struct profile_location location, uint32_t name, struct source_line line,
			uint64_t *ret)
{
	uint64_t *known = pair_map_find(&profile->location_of_place, image, offset);
	size_t room = location.kind == PROFILE_CUT ? ROOM_FOR_CUTS : 0;
	int r = 0;

	*ret = 0;
	if (profile->n_locations >= profile->limits.locations + room ||
	    profile->n_calls >= profile->limits.calls + room)
		return 0;
	if (known)
		*known = profile->n_locations;
	else
		r = pair_map_add(&profile->location_of_place, image, offset, profile->n_locations);
	if (r == 0)
		r = add_calls(profile, &location, name, line);
	if (r == 0)
		r = GROWING_LIST_MAKE_ROOM(profile->locations, profile->n_locations);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	profile->locations[profile->n_locations] = location;
	*ret = profile->n_locations++;
	return 0;
}

static enum profile_location_kind kind_of_frame(const struct wire_frame *frame,
						const struct frame_name *name)
{
	if (frame->flags & WIRE_frame_flags_KERNEL)
		return PROFILE_KERNEL;
	if (frame->flags & WIRE_frame_flags_SCRIPT)
		return PROFILE_SCRIPT;
	return name->is_made ? PROFILE_JIT : PROFILE_USER;
}

int profile_add_frame(struct profile *profile, const struct wire_frame *frame,
		      const struct frame_name *name, uint64_t *ret_location)
{
	struct profile_location location = {
		.label = name->list ?: name->name,
		.kind = kind_of_frame(frame, name),
		.is_unnamed = name->is_unnamed,
		.offset = name->image ? name->offset : frame->address,
	};
	uint64_t number = name->image			    ? name->image_number
			  : location.kind == PROFILE_KERNEL ? NO_IMAGE_KERNEL
							    : NO_IMAGE_USER;
	uint64_t *known;
	int r;

	if (frame->flags & WIRE_frame_flags_FRAME_POINTER)
		number ^= UNPROVED_STEP;
	known = pair_map_find(&profile->location_of_place, number, location.offset);
	if (known && profile->locations[*known].label == location.label) {
		*ret_location = *known;
		return 0;
	}
	if (name->image) {
		r = find_module(profile, name, &location.module);
		if (r < 0)
			return r;
	}
	return add_location(profile, number, location.offset, location, name->name,
			    name->place ? name->place->line : (struct source_line){ 0 },
			    ret_location);
}

/* Finds or adds a child node; 0: the limit is reached. 0 or -ENOMEM. */
static int find_node(struct profile *profile, struct node node, uint32_t *ret)
{
	uint32_t *slot =
		node_index_find(&profile->node_index, profile->nodes, profile->n_nodes, node);
	bool is_cut = profile->locations[node.location].kind == PROFILE_CUT;
	size_t room = is_cut ? ROOM_FOR_CUTS : 0;
	int r;

	*ret = 0;
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (profile->n_nodes >= profile->limits.nodes + room)
			return 0;
		r = GROWING_LIST_MAKE_ROOM(profile->nodes, profile->n_nodes);
		if (r < 0)
			return r;
		profile->nodes[profile->n_nodes] = node;
		*slot = profile->n_nodes++;
	}
	*ret = *slot;
	return 0;
}

/* The node of a stack's next inner frame; usually it is the one of the last stack's path. */
static int go_to(struct profile *profile, size_t depth, uint64_t location, bool *is_same,
		 uint32_t *ret_node)
{
	struct node node = { *ret_node, { location } };
	uint32_t last = depth < profile->n_path ? profile->path[depth] : 0;
	int r = 0;

	*is_same = *is_same && last && profile->nodes[last].location == location;
	if (*is_same)
		*ret_node = last;
	else
		r = location ? find_node(profile, node, ret_node) : 0;
	if (!location)
		*ret_node = 0;
	profile->path[depth] = *ret_node;
	return r;
}

static int find_cut(struct profile *profile, uint32_t end, uint64_t *ret_location)
{
	uint64_t *known = pair_map_find(&profile->location_of_place, NO_IMAGE_CUT, end);
	struct profile_location location = { .offset = end, .kind = PROFILE_CUT };
	char text[STACKS_END_TEXT];
	uint32_t name;

	*ret_location = known ? *known : 0;
	if (known || !stacks_end_text(end, text))
		return 0;
	name = intern(profile, text);
	location.label = name;
	return add_location(profile, NO_IMAGE_CUT, end, location, name, (struct source_line){ 0 },
			    ret_location);
}

/* The node of a whole stack; 0: no frames, or the limits are reached. 0 or -ENOMEM. */
static int find_stack(struct profile *profile, const struct named_stack *stack, uint32_t *ret)
{
	size_t depth = 0, n = stack->n_shown;
	bool is_same = true;
	uint64_t cut;
	int r = find_cut(profile, stack->record->end, &cut);

	*ret = 0;
	if (r == 0 && cut)
		r = go_to(profile, depth++, cut, &is_same, ret);
	for (size_t i = 0; i < n && r == 0 && (*ret || !depth); i++)
		r = go_to(profile, depth++, stack->shown[i].value, &is_same, ret);
	profile->n_path = depth;
	return r;
}

/* Sets the cgroup, container and systemd unit of a process. */
static void label(struct profile *profile, struct profile_process *process, const char *path)
{
	char text[CGROUP_LABEL_MAX];

	process->cgroup = intern(profile, path);
	cgroup_container(path, text);
	process->container = *text ? intern(profile, text) : 0;
	cgroup_unit(path, text);
	process->unit = *text ? intern(profile, text) : 0;
}

static const char *name_of_process(const struct named_stack *stack)
{
	return stack->process && *stack->process->name ? stack->process->name : NAMES_UNKNOWN;
}

static int put_process(struct profile *profile, struct profile_process process)
{
	return GROWING_LIST_ADD(profile->processes, profile->n_processes, process);
}

/* The process that stands for all beyond the limit. 0 or -ENOMEM. */
static int find_crowd_of_processes(struct profile *profile, uint32_t *ret)
{
	struct profile_process crowd = { .number = UINT64_MAX };
	int r = 0;

	if (!profile->crowd) {
		crowd.name = intern(profile, "[more-processes-than-fit]");
		r = put_process(profile, crowd);
		if (r == 0)
			profile->crowd = profile->n_processes;
	}
	*ret = profile->crowd - 1;
	return r;
}

static int find_process(struct profile *profile, const struct named_stack *stack, uint32_t *ret)
{
	uint64_t number = stack->record->process;
	uint64_t *known = pair_map_find(&profile->process_of_number, number, 0);
	struct profile_process process = {
		.number = number,
		.pid = stack->process ? stack->process->pid : 0,
	};
	int r;

	*ret = known ? *known : profile->n_processes;
	if (known)
		return 0;
	if (profile->n_processes >= profile->limits.processes)
		return find_crowd_of_processes(profile, ret);
	process.name = intern(profile, name_of_process(stack));
	if (stack->process && stack->process->cgroup)
		label(profile, &process, stack->process->cgroup->path);
	r = pair_map_add(&profile->process_of_number, number, 0, profile->n_processes);
	return r < 0 ? r : put_process(profile, process);
}

static int put_thread(struct profile *profile, struct profile_thread thread)
{
	return GROWING_LIST_ADD(profile->threads, profile->n_threads, thread);
}

/* The thread that stands for all threads of a process beyond the limit. 0 or -ENOMEM. */
static int find_crowd_of_threads(struct profile *profile, uint32_t process, uint32_t *ret)
{
	struct profile_thread crowd = { .process = process };
	int r = 0;

	profile->n_crowded++;
	if (!profile->processes[process].crowd) {
		crowd.name = intern(profile, "[more-threads-than-fit]");
		r = put_thread(profile, crowd);
		if (r == 0)
			profile->processes[process].crowd = profile->n_threads;
	}
	*ret = profile->processes[process].crowd - 1;
	return r;
}

/* Finds or adds a thread and updates its name: the latest one counts. 0 or -ENOMEM. */
static int find_thread(struct profile *profile, const struct named_stack *stack, uint32_t *ret)
{
	const struct wire_stack *record = stack->record;
	uint64_t *known = pair_map_find(&profile->thread_of_tid, record->process, record->tid);
	struct profile_thread *thread;
	uint32_t process;
	int r = 0;

	*ret = known ? *known : profile->n_threads;
	if (!known) {
		r = find_process(profile, stack, &process);
		if (r == 0 && (profile->n_threads >= profile->limits.threads ||
			       profile->processes[process].number == UINT64_MAX))
			return find_crowd_of_threads(profile, process, ret);
		if (r == 0)
			r = pair_map_add(&profile->thread_of_tid, record->process, record->tid,
					 profile->n_threads);
		if (r == 0)
			r = put_thread(profile, (struct profile_thread){ process, record->tid });
		if (r < 0)
			return r;
	}
	thread = &profile->threads[*ret];
	thread->name = names_of_thread(&profile->stacks->names, stack->process, record->process,
				       record->tid);
	if (stack->process && record->tid == stack->process->pid)
		profile->processes[thread->process].name = thread->name;
	return 0;
}

/* The node of all stacks beyond the limits: its end reason is "more-stacks-than-fit". */
static int find_crowd(struct profile *profile, uint32_t *ret_node)
{
	const struct wire_stack record = { .end = WIRE_stack_end_MORE_STACKS };
	const struct named_stack stack = { .record = &record };

	return find_stack(profile, &stack, ret_node);
}

int profile_find_stack(struct profile *profile, const struct named_stack *stack, uint32_t *ret_node,
		       uint32_t *ret_thread)
{
	int r = find_stack(profile, stack, ret_node);

	profile->holds_still = true;
	if (r == 0 && !*ret_node && profile->n_path)
		r = find_crowd(profile, ret_node);
	return r < 0 ? r : find_thread(profile, stack, ret_thread);
}

/* Makes room for one more sample. 0; -ENOMEM; -ENOSPC: the limit is reached. */
static int make_room_for_sample(struct profile *profile)
{
	uint32_t crowd;
	int r = 0;

	if (profile->n_samples >= profile->limits.samples) {
		if (profile->holds_still)
			return -ENOSPC;
		r = find_crowd(profile, &crowd);
		if (r == 0)
			profile_merge(profile, crowd);
	}
	if (r == 0 && profile->n_samples >= profile->limits.samples)
		return -ENOSPC;
	return r < 0 ? r : GROWING_LIST_MAKE_ROOM(profile->samples, profile->n_samples);
}

int profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	int r = make_room_for_sample(profile);

	if (r < 0)
		return r;
	profile->samples[profile->n_samples++] = *sample;
	profile->has_repeats |= sample->n != 1;
	return 0;
}

int profile_add_thread_time(struct profile *profile, const struct wire_thread_time *record)
{
	const struct wire_stack whose = { .process = record->process, .tid = record->tid };
	const struct named_stack stack = {
		.record = &whose,
		.process =
			process_table_find(&profile->stacks->identity.processes, record->process),
	};
	uint32_t number;
	int r = find_thread(profile, &stack, &number);

	if (r < 0)
		return r;
	sum_add(&profile->threads[number].on_ns, record->on_cpu);
	sum_add(&profile->threads[number].off_ns, record->off_cpu);
	sum_add(&profile->threads[number].n_waits, record->n_waits);
	return 0;
}

static_assert(sizeof(struct profile_sample) == 48, "there are many of them");
static_assert(EVENTS_MAX <= 1 << 5, "events fit");

/* The thread that ended a wait: index + 1. */
static int find_waker(struct profile *profile, const struct wire_stack *record, uint32_t *ret)
{
	const struct wire_stack whose = { .process = record->waker, .tid = record->waker_tid };
	const struct named_stack stack = {
		.record = &whose,
		.process = process_table_find(&profile->stacks->identity.processes, record->waker),
	};
	uint32_t thread;
	int r = find_thread(profile, &stack, &thread);

	*ret = r == 0 ? thread + 1 : 0;
	return r;
}

int profile_add_known_stack(struct profile *profile, const struct named_stack *stack, uint32_t node)
{
	const struct wire_stack *record = stack->record;
	struct profile_sample sample = {
		.time = record->time,
		.n = wire_stack_samples(record),
		.weight = record->weight,
		.node = node,
		.end = record->end,
		.event = record->event,
		.flags = record->flags,
		.context = profile_contexts_find(&profile->contexts, record->trace_context),
	};
	int r = 0;

	if (record->event >= profile->stacks->events.n) {
		sum_add(&profile->n_unknown, sample.n);
		stacks_skip(profile->stacks, record->end, sample.n);
		return 0;
	}
	sum_add(&profile->n_taken, sample.n);
	r = find_thread(profile, stack, &sample.thread);
	if (r == 0 && record->waker_tid)
		r = find_waker(profile, record, &sample.waker);
	return r < 0 ? r : profile_add_sample(profile, &sample);
}

/* Adds a stack beyond the limits without its frames, as "more-stacks-than-fit". */
static int add_to_crowd(struct profile *profile, const struct named_stack *stack)
{
	struct wire_stack record = *stack->record;
	const struct named_stack crowded = { .record = &record, .process = stack->process };
	uint32_t node;
	int r = find_crowd(profile, &node);

	stacks_find_no_room(profile->stacks, record.end, wire_stack_samples(&record));
	record.end = WIRE_stack_end_MORE_STACKS;
	return r < 0 ? r : profile_add_known_stack(profile, &crowded, node);
}

/* Whether the largest possible stack might not fit (except with the small limits of tests). */
static bool is_full(const struct profile *profile)
{
	const struct profile_limits *limits = &profile->limits;

	return profile->n_nodes + ROOM_FOR_STACK(limits->nodes) > limits->nodes ||
	       profile->n_locations + ROOM_FOR_STACK(limits->locations) > limits->locations ||
	       profile->n_calls + ROOM_FOR_STACK(limits->calls) > limits->calls;
}

static bool is_half_full(const struct profile *profile)
{
	return 2 * profile->n_nodes > profile->limits.nodes ||
	       2 * profile->n_locations > profile->limits.locations ||
	       2 * profile->n_calls > profile->limits.calls;
}

/* Prunes until nodes, locations and calls are at most half full. 0 or -ENOMEM. */
static int prune(struct profile *profile)
{
	size_t n_before = SIZE_MAX;
	uint32_t crowd;
	int r = 0;

	while (r == 0 && is_half_full(profile) && profile->n_nodes < n_before) {
		n_before = profile->n_nodes;
		r = find_crowd(profile, &crowd);
		if (r == 0)
			r = profile_prune(profile, crowd);
	}
	frame_cache_forget_all(&profile->stacks->frames);
	return r;
}

int profile_add_stack(struct profile *profile, const struct named_stack *stack, uint64_t *ret_node)
{
	uint32_t node;
	int r = find_stack(profile, stack, &node);

	*ret_node = r == 0 ? node : 0;
	if (r == 0 && !node && profile->n_path)
		r = add_to_crowd(profile, stack);
	else if (r == 0)
		r = profile_add_known_stack(profile, stack, node);
	if (r < 0 || profile->holds_still || !is_full(profile))
		return r;
	*ret_node = 0; /* pruning renumbers nodes */
	return prune(profile);
}

static uint32_t intern_string(struct profile *profile, struct wire_string string)
{
	return string.size ? names_intern(&profile->stacks->names, string.data, string.size) : 0;
}

/* A process by its number: its index + 1; 0: it is not known. 0 or -ENOMEM. */
static int find_known_process(struct profile *profile, uint64_t number, uint32_t *ret)
{
	const struct wire_stack whose = { .process = number };
	const struct named_stack stack = {
		.record = &whose,
		.process = process_table_find(&profile->stacks->identity.processes, number),
	};
	uint32_t process;
	int r;

	*ret = 0;
	if (!stack.process)
		return 0;
	r = find_process(profile, &stack, &process);
	if (r == 0)
		*ret = process + 1;
	return r;
}

int profile_add_mark(struct profile *profile, const struct wire_mark *mark)
{
	uint32_t process;

	if (profile->n_marks == PROFILE_MARKS_MAX)
		return 0;
	if (find_known_process(profile, mark->process, &process) < 0)
		return -ENOMEM;
	return GROWING_LIST_ADD(profile->marks, profile->n_marks,
				(struct profile_mark){
					.time = mark->time,
					.duration = mark->duration,
					.group = intern_string(profile, mark->group),
					.name = intern_string(profile, mark->name),
					.text = intern_string(profile, mark->text),
					.process = process,
					.tid = mark->tid,
				});
}

int profile_add_counter(struct profile *profile, const struct wire_counter *counter)
{
	struct names *names = &profile->stacks->names;

	if (counter->number > PROFILE_COUNTERS_MAX)
		return 0;
	while (profile->n_counters <= counter->number) {
		if (GROWING_LIST_ADD(profile->counters, profile->n_counters,
				     (struct profile_counter){ 0 }) < 0)
			return -ENOMEM;
	}
	profile->counters[counter->number] = (struct profile_counter){
		.category = names_intern(names, counter->category.data, counter->category.size),
		.name = names_intern(names, counter->name.data, counter->name.size),
		.description =
			names_intern(names, counter->description.data, counter->description.size),
		.divisor = counter->divisor ? counter->divisor : 1,
	};
	return 0;
}

int profile_add_counter_values(struct profile *profile, const struct wire_counter_values *values)
{
	for (size_t i = 0; i < values->values.n; i++) {
		const struct wire_counter_value *value = &values->values.data[i];

		if (value->counter >= profile->n_counters ||
		    !profile->counters[value->counter].divisor ||
		    profile->n_counter_values == PROFILE_COUNTER_VALUES_MAX)
			continue;
		if (GROWING_LIST_ADD(profile->counter_values, profile->n_counter_values,
				     (struct profile_counter_value){ values->time, value->value,
								     value->counter }) < 0)
			return -ENOMEM;
	}
	return 0;
}

int profile_add_resource_attribute(struct profile *profile,
				   const struct wire_resource_attribute *record)
{
	uint32_t process;
	int r = find_known_process(profile, record->process, &process);

	if (r < 0 || !process)
		return r;
	return profile_contexts_add_resource(&profile->contexts, record,
					     &profile->processes[process - 1].resource);
}

int profile_add_trace_context(struct profile *profile, const struct wire_trace_context *record)
{
	return profile_contexts_add(&profile->contexts, record);
}

int profile_add_trace_attribute(struct profile *profile, const struct wire_trace_attribute *record)
{
	return profile_contexts_add_attribute(&profile->contexts, record);
}

int profile_add_lost(struct profile *profile, const struct wire_lost *lost)
{
	if (profile->n_losses == PROFILE_LOSSES_MAX)
		return 0;
	return GROWING_LIST_ADD(profile->losses, profile->n_losses,
				(struct profile_loss){ lost->time, lost->n, lost->cpu });
}

void profile_drop_samples(struct profile *profile, size_t n)
{
	if (!n)
		return; /* the list may be NULL still */
	for (size_t i = 0; i < n; i++)
		sum_take_off(&profile->n_taken, profile->samples[i].n);
	profile->n_samples -= n;
	memmove(profile->samples, profile->samples + n,
		profile->n_samples * sizeof(*profile->samples));
}

static int by_end(const void *a, const void *b)
{
	const struct profile_mark *left = a, *right = b;

	return left->time < right->time ? -1 : left->time > right->time;
}

static uint64_t count_samples(const struct profile *profile)
{
	uint64_t n = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		sum_add(&n, profile->samples[i].n);
	return n;
}

uint64_t profile_sum(const struct profile *profile, struct view view)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		sum_add(&sum, profile_amount(profile, view, &profile->samples[i]));
	return sum;
}

int profile_check_sum(const struct profile *profile, struct view view, uint64_t n_put)
{
	return profile_sum(profile, view) == n_put ? 0 : -ENOTRECOVERABLE;
}

/* A later stage may have told more of an image than was known at its first frame. */
static void identify_modules(struct profile *profile)
{
	for (size_t i = 1; i < profile->n_modules; i++) {
		struct profile_module *module = &profile->modules[i];
		const struct image *image =
			image_table_find(&profile->stacks->identity.images, module->image);

		if (image)
			identify(profile, module, image);
	}
}

int profile_settle(struct profile *profile, struct stage *stage)
{
	const struct names *names = &profile->stacks->names;

	for (size_t i = 0; i < profile->n_calls; i++) {
		uint32_t *name = &profile->calls[i].name;

		*name = names_plain(names, names_meaning(names, *name));
	}
	identify_modules(profile);
	/* In the order of their ends: marks of a capture read back are ordered by beginning. */
	if (profile->n_marks)
		qsort(profile->marks, profile->n_marks, sizeof(*profile->marks), by_end);
	if (profile->n_unknown) {
		stage->samples_out -= profile->n_unknown;
		stage_drop(stage, "unknown-event", profile->n_unknown);
	}
	if (profile->n_crowded)
		*counters_get(&stage->counters, "refused", "threads") += profile->n_crowded;
	return count_samples(profile) == profile->n_taken ? 0 : -ENOTRECOVERABLE;
}
