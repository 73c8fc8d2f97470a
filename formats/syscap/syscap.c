/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sysprof's capture. Sysprof identifies a process by PID only, merges all mappings of a PID, and
 * looks names up by PID and address regardless of time. Therefore:
 *   - each incarnation of a PID has its own number (pids.h);
 *   - addresses are real, and a table at the end ("__symbols__") has the name of each sampled one.
 *     When an address gets a second name (another library), its frame becomes a jitmap entry;
 *   - the end reason of a stack is a jitmap entry too, as its outermost frame.
 * Kernel frames keep their addresses, with a /proc/kallsyms of the functions that occur. Only code
 * that the kernel makes at run time (BPF programs) has synthetic addresses, one for each name,
 * because programs may reuse addresses. (Sysprof does not look up kernel frames in the jitmap.)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/sum.h"
#include "common/base/text.h"
#include "common/file/gzip.h"
#include "common/stream/build-id.h"
#include "formats/format.h"
#include "formats/syscap/allocations.h"
#include "formats/syscap/counters.h"
#include "formats/syscap/events.h"
#include "formats/syscap/files.h"
#include "formats/syscap/frames.h"
#include "formats/syscap/kallsyms.h"
#include "formats/syscap/notes.h"
#include "formats/syscap/pids.h"
#include "formats/syscap/symbols.h"

enum {
	MAPPINGS_MAX = 1 << 22,
	NAMES_EMITTED_MAX = 1 << 22,
	KERNEL_SYNTHETIC_SIZE = 16,
	COPIES_MAX = 1 << 24,	   /* extra copies of samples, for stacks that stand for several */
	SEVERITY_WARNING = 1 << 4, /* GLogLevelFlags */
	SEVERITY_MESSAGE = 1 << 5,
};

/* In the kernel's half, but not canonical, so never a real address. */
#define KERNEL_SYNTHETIC (1ULL << 63)

struct syscap_format {
	struct stage *stage; /* these are borrowed */
	struct stacks *stacks;
	struct output *output;
	struct syscap syscap;
	struct syscap_pids pids;
	struct pair_map emitted_names; /* (PID, 0) → hash of the name written last */
	struct pair_map mappings;      /* (PID, mapping) → 1: it is in the file */
	struct syscap_symbols symbols;
	struct syscap_files files;
	struct syscap_counters counters;
	struct pair_map jitmap; /* (name, 0) → its address */
	struct pair_map kernel; /* (start, size) → name; in the upper half that of the module */
	struct heap_allocations allocations;
	uint32_t n_jitmap;
	bool has_kallsyms; /* the whole file, because the stream has no names */
	struct syscap_notes notes;
	uint64_t n_put, n_copies; /* samples */
};

static int put_metadata(struct syscap_format *self, const char *id, const char *value)
{
	struct syscap_time when = { self->stacks->hello.start_time, -1, -1 };
	char text[512];

	return syscap_put_metadata(&self->syscap, when, id,
				   text_clean_string(value, text, sizeof(text)));
}

static int put_metadata_number(struct syscap_format *self, const char *id, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return put_metadata(self, id, text);
}

static int begin(void *data, struct stage *stage, struct stacks *stacks, struct output *output)
{
	struct syscap_format *self = data;
	const struct wire_hello *hello = &stacks->hello;
	int r;

	self->stage = stage;
	self->stacks = stacks;
	self->output = output;
	r = syscap_pids_init(&self->pids);
	if (r < 0)
		return r;
	pair_map_init(&self->emitted_names, 2 * PROCESS_TABLE_MAX);
	pair_map_init(&self->mappings, MAPPINGS_MAX);
	syscap_notes_init(&self->notes, &self->files);
	syscap_symbols_init(&self->symbols);
	heap_allocations_init(&self->allocations);
	pair_map_init(&self->jitmap, NAMES_EMITTED_MAX);
	pair_map_init(&self->kernel, NAMES_EMITTED_MAX);
	self->files.syscap = self->counters.syscap = &self->syscap;
	r = syscap_begin(&self->syscap, self->output, hello->start_time, hello->start_unix_time);
	if (r == 0)
		r = put_metadata(self, "stackpipe.version", STACKPIPE_VERSION);
	if (r == 0)
		r = put_metadata(self, "stackpipe.stages", hello->stages);
	if (r == 0)
		r = put_metadata(self, "stackpipe.host", hello->host);
	if (r == 0)
		r = put_metadata(self, "stackpipe.event", hello->event);
	if (r == 0)
		r = put_metadata_number(self, "stackpipe.rate", hello->rate);
	if (r == 0)
		r = syscap_counters_begin(&self->counters, hello->start_time);
	return r;
}

/* Successive names of a process have hardly ever the same hash. */
static uint64_t hash_name(const struct process *process)
{
	return process ? hash_bytes(HASH_BYTES, process->name, strlen(process->name)) : HASH_BYTES;
}

/*
 * The PID of a stack's process. The process is written when first met, and again when its name
 * changes: Sysprof uses the last one, and each incarnation is a process of its own here.
 */
static int find_pid(struct syscap_format *self, const struct named_stack *stack, int32_t *ret_pid)
{
	struct process *process = stack->process;
	struct syscap_time when = { stack->record->time, 0, stack->record->cpu };
	int64_t pid = syscap_pids_assign(&self->pids, stack->record->process, process);
	uint64_t hash = hash_name(process), *emitted;
	char name[SYSCAP_PIDS_NAME_MAX];
	int r = 0;

	if (pid < 0)
		return pid;
	*ret_pid = pid;
	emitted = pair_map_find(&self->emitted_names, pid, 0);
	if (emitted && *emitted == hash)
		return 0;
	if (emitted)
		*emitted = hash;
	else
		r = pair_map_add(&self->emitted_names, pid, 0, hash);
	if (r == -ENOSPC) /* the next sample writes it again */
		r = 0;
	syscap_pids_name(process, pid, name);
	when.pid = pid;
	if (r == 0 && !emitted && process && process->cgroup)
		r = syscap_note_cgroup(&self->notes, pid, process->cgroup->path, when.time);
	return r < 0 ? r : syscap_put_process(&self->syscap, when, name);
}

/* The same without a stack. */
static int find_pid_of(struct syscap_format *self, uint64_t upid, uint64_t time, int32_t *ret_pid)
{
	const struct wire_stack whose = { .process = upid, .time = time };
	const struct named_stack stack = {
		.record = &whose,
		.process = process_table_find(&self->stacks->identity.processes, upid),
	};

	return find_pid(self, &stack, ret_pid);
}

/* Writes the mapping of a frame when its process first has a frame in it. */
static int put_mapping(struct syscap_format *self, int32_t pid, const struct process *process,
		       const struct wire_frame *frame, uint64_t time)
{
	struct syscap_time when = { time, pid, -1 };
	const struct mapping *mapping;
	const struct image *image;
	char path[4096], hex[BUILD_ID_TEXT];

	if (!process || !frame->mapping || pair_map_find(&self->mappings, pid, frame->mapping))
		return 0;
	mapping = process_table_mapping(&self->stacks->identity.processes, process, frame);
	image = mapping ? image_table_find(&self->stacks->identity.images, mapping->image) : NULL;
	if (!image)
		return 0;
	pair_map_add(&self->mappings, pid, frame->mapping, 1);
	build_id_text(image->build_id, image->build_id_size, hex);
	return syscap_put_map(&self->syscap, when, mapping->start, mapping->end, mapping->offset,
			      image->inode, text_clean_string(image->path, path, sizeof(path)),
			      *hex ? hex : NULL);
}

/* The address of a name's jitmap entry: written on first use, or at the end if provisional. */
static uint64_t jitmap_address(struct syscap_format *self, uint32_t name, uint64_t time,
			       int *ret_error)
{
	struct syscap_time when = { time, -1, -1 };
	uint64_t *known = pair_map_find(&self->jitmap, name, 0), address;

	*ret_error = 0;
	if (known)
		return *known;
	address = SYSCAP_JITMAP_MARK | (self->n_jitmap + 1);
	*ret_error = pair_map_add(&self->jitmap, name, 0, address);
	if (*ret_error == 0 && !names_is_provisional(&self->stacks->names, name))
		*ret_error = syscap_put_jitmap(&self->syscap, when, address,
					       names_text(&self->stacks->names, name));
	self->n_jitmap++;
	return address;
}

/* The address to write for a user frame, so that Sysprof finds its name and no other. */
static int user_address(struct syscap_format *self, int32_t pid, const struct wire_frame *frame,
			uint32_t name, uint64_t time, uint64_t *ret)
{
	uint64_t *known;
	int r = 0;

	*ret = frame->address;
	if (!self->stacks->has_symbols)
		return 0;
	known = pair_map_find(&self->symbols.living, pid, frame->address);
	if (known && *known == name)
		return 0;
	if (!known)
		r = pair_map_add(&self->symbols.living, pid, frame->address, name);
	/* Address 0 cannot be in the table: it ends Sysprof's table. */
	if (known || r == -ENOSPC || frame->address == 0)
		*ret = jitmap_address(self, name, time, &r);
	return r;
}

/* Keeps a function of the kernel for the reduced kallsyms. */
static int keep_kernel_symbol(struct syscap_format *self, const struct named_place *place,
			      uint64_t start, uint64_t size)
{
	int r = 0;

	if (!pair_map_find(&self->kernel, start, size))
		r = pair_map_add(&self->kernel, start, size,
				 (uint64_t)place->module << 32 | place->name);
	return r == -ENOSPC ? 0 : r;
}

/* Whether code of a kallsyms "module" may be replaced by other code at any time. */
static bool is_made_while_running(const char *module)
{
	return !strcmp(module, "bpf") || !strncmp(module, "__builtin__", strlen("__builtin__"));
}

/* The address to write for a frame of the kernel. */
static int kernel_address(struct syscap_format *self, const struct wire_frame *frame,
			  const struct named_place *place, uint64_t *ret)
{
	uint64_t start;

	*ret = frame->address;
	if (!place || !place->name)
		return 0;
	if (!place->module ||
	    !is_made_while_running(names_text(&self->stacks->names, place->module)))
		return keep_kernel_symbol(self, place, place->start, place->size);
	start = KERNEL_SYNTHETIC + (uint64_t)place->name * KERNEL_SYNTHETIC_SIZE;
	/* Readers look a return address up one byte earlier. */
	*ret = start + KERNEL_SYNTHETIC_SIZE / 2;
	return keep_kernel_symbol(self, place, start, KERNEL_SYNTHETIC_SIZE);
}

/* Writes what must precede a frame in the file; its value is the address to write. */
static int add_frame(void *data, const struct named_stack *stack, const struct wire_frame *frame,
		     const struct frame_name *name, uint64_t *ret_value)
{
	struct syscap_format *self = data;
	uint64_t time = stack->record->time;
	int64_t pid;
	int r;

	if (frame->flags & WIRE_frame_flags_KERNEL)
		return kernel_address(self, frame, name->place, ret_value);
	pid = syscap_pids_assign(&self->pids, stack->record->process, stack->process);
	if (pid < 0)
		return pid;
	r = put_mapping(self, pid, stack->process, frame, time);
	if (r == 0)
		r = syscap_note_frame(&self->notes, &self->stacks->names, name, time);
	return r < 0 ? r : user_address(self, pid, frame, name->name, time, ret_value);
}

/* Addresses to write for a stack, leaf first. */
struct addresses {
	uint64_t list[SYSCAP_ADDRESSES_MAX];
	size_t n;
	uint64_t context;
};

/* Leaves room for the user context, an end reason and an event. False: it is full. */
static bool add_address(struct addresses *addresses, uint64_t context, uint64_t address)
{
	bool has_changed = context != addresses->context;

	if (addresses->n + has_changed + 4 > SYSCAP_ADDRESSES_MAX)
		return false;
	if (has_changed)
		addresses->list[addresses->n++] = addresses->context = context;
	addresses->list[addresses->n++] = address;
	return true;
}

/*
 * Adds the calls inlined into a frame, then the frame. Inlined calls have no address of their own,
 * so each has a jitmap entry.
 */
static bool add_addresses(struct syscap_format *self, const struct named_frame *frame,
			  uint64_t time, struct addresses *addresses, int *ret_error)
{
	uint64_t context = frame->flags & WIRE_frame_flags_KERNEL ? SYSCAP_CONTEXT_KERNEL
								  : SYSCAP_CONTEXT_USER;
	bool has_room = true;
	size_t n;
	const uint32_t *names = names_of_label(&self->stacks->names, &frame->label, &n);

	while (--n && has_room && *ret_error == 0)
		has_room = add_address(addresses, context,
				       jitmap_address(self, names[n], time, ret_error));
	return has_room && add_address(addresses, context, frame->value);
}

/* If there are too many, the written stack has another end reason. 0 or -errno. */
static int find_addresses(struct syscap_format *self, const struct named_stack *stack,
			  struct addresses *addresses, uint32_t *ret_end)
{
	int r = 0;

	for (size_t i = stack->record->frames.n; i-- > 0 && r == 0;)
		if (!add_addresses(self, &stack->frames[i], stack->record->time, addresses, &r)) {
			*ret_end = WIRE_stack_end_FRAME_LIMIT;
			break;
		}
	if (addresses->context != SYSCAP_CONTEXT_USER)
		addresses->list[addresses->n++] = SYSCAP_CONTEXT_USER;
	return r;
}

/* Adds the end reason as outermost frame; room for it was left. */
static int add_reason(struct syscap_format *self, uint32_t end, uint64_t time,
		      struct addresses *addresses)
{
	char reason[STACKS_END_TEXT];
	uint32_t name;
	int r = 0;

	if (!stacks_end_text(end, reason))
		return 0;
	name = names_intern(&self->stacks->names, reason, strlen(reason));
	addresses->list[addresses->n++] = jitmap_address(self, name, time, &r);
	return r;
}

/*
 * The TID for the capture. The main thread has the PID of its incarnation here; Sysprof crashes on
 * a negative TID with another PID.
 */
static int32_t find_tid(const struct process *process, int32_t pid, uint32_t tid)
{
	bool is_main = process && tid == process->pid;

	return is_main || (int32_t)tid < 0 ? pid : (int32_t)tid;
}

static int find_waker(struct syscap_format *self, const struct wire_stack *stack,
		      struct syscap_thread *ret)
{
	const struct process *process =
		process_table_find(&self->stacks->identity.processes, stack->waker);
	int r = find_pid_of(self, stack->waker, stack->time, &ret->pid);

	ret->tid = find_tid(process, ret->pid, stack->waker_tid);
	return r;
}

/* For events other than the first: writes the weight, and adds the name as outermost frame. */
static int add_event(struct syscap_format *self, struct syscap_time when, int32_t tid,
		     const struct wire_stack *stack, struct addresses *addresses)
{
	const struct events *events = &self->stacks->events;
	char text[EVENT_NAME_SIZE + 2];
	struct syscap_thread waker = { 0 };
	uint32_t name;
	int r;

	if (stack->event >= events->n)
		return 0;
	if (stack->waker_tid && (r = find_waker(self, stack, &waker)) < 0)
		return r;
	syscap_event_frame(events, stack->event, text, sizeof(text));
	name = names_intern(&self->stacks->names, text, strlen(text));
	addresses->list[addresses->n++] = jitmap_address(self, name, when.time, &r);
	return r < 0 ? r : syscap_put_event_mark(&self->syscap, when, tid, waker, events, stack);
}

static int add_resource_attribute(void *data, const struct wire_resource_attribute *record)
{
	struct syscap_format *self = data;
	int32_t pid;
	int r = find_pid_of(self, record->process, record->time, &pid);

	return r < 0 ? r : syscap_note_resource(&self->notes, pid, record);
}

static int add_trace_context(void *data, const struct wire_trace_context *record)
{
	struct syscap_format *self = data;
	int32_t pid;
	int r = find_pid_of(self, record->process, self->stacks->last_time, &pid);

	return r < 0 ? r : syscap_note_context(&self->notes, pid, self->stacks->last_time, record);
}

static int add_trace_attribute(void *data, const struct wire_trace_attribute *record)
{
	struct syscap_format *self = data;

	return syscap_note_attribute(&self->notes, self->stacks->last_time, record);
}

/* Writes a mark of a process, in which Sysprof shows it, or of none. */
static int add_mark(void *data, const struct wire_mark *mark)
{
	struct syscap_format *self = data;
	struct syscap_time when = { mark->time - mark->duration, -1, -1 };
	char group[24], name[40], text[1100];
	int r = mark->process ? find_pid_of(self, mark->process, mark->time, &when.pid) : 0;

	return r < 0 ? r
		     : syscap_put_mark(&self->syscap, when, mark->duration,
				       text_clean_string(mark->group.data, group, sizeof(group)),
				       text_clean_string(mark->name.data, name, sizeof(name)),
				       text_clean_string(mark->text.data, text, sizeof(text)));
}

static int add_counter(void *data, const struct wire_counter *record)
{
	struct syscap_format *self = data;

	return syscap_counters_add(&self->counters, record, self->stacks->last_time);
}

static int add_counter_values(void *data, const struct wire_counter_values *record)
{
	struct syscap_format *self = data;

	return syscap_counters_add_values(&self->counters, record);
}

static int add_thread_time(void *data, const struct wire_thread_time *record)
{
	struct syscap_format *self = data;
	int32_t pid;
	int r = find_pid_of(self, record->process, record->time, &pid);

	return r < 0 ? r : syscap_note_thread_time(&self->notes, pid, record);
}

/* A sample in a capture stands for one, so more are written as copies, as far as they fit. */
static int put_samples(struct syscap_format *self, struct syscap_time when, int32_t tid,
		       const struct addresses *addresses, const struct wire_stack *record)
{
	uint64_t n = wire_stack_samples(record), room = COPIES_MAX - self->n_copies;
	uint64_t n_put = n - 1 < room ? n : room + 1;
	int r = 0;

	self->n_copies += n_put - 1;
	self->n_put += n_put;
	if (n_put < n) {
		self->stage->samples_out -= n - n_put;
		stage_drop(self->stage, "more-copies-than-fit", n - n_put);
		stacks_skip(self->stacks, record->end, n - n_put);
	}
	for (; n_put && r == 0; n_put--)
		r = syscap_put_sample(&self->syscap, when, tid, addresses->list, addresses->n);
	return r;
}

static int add_stack(void *data, const struct named_stack *stack)
{
	struct syscap_format *self = data;
	const struct wire_stack *record = stack->record;
	struct addresses addresses;
	struct syscap_time when = { record->time, 0, record->cpu };
	int32_t tid;
	uint32_t end = record->end;
	int r = find_pid(self, stack, &when.pid);

	addresses.n = addresses.context = 0;
	if (r == 0)
		r = find_addresses(self, stack, &addresses, &end);
	if (r == 0)
		r = add_reason(self, end, record->time, &addresses);
	self->counters.n_incomplete += end != WIRE_stack_end_COMPLETE;
	if (r < 0)
		return r;
	tid = find_tid(stack->process, when.pid, record->tid);
	r = syscap_note_thread(&self->notes, &self->stacks->names, stack, when, tid);
	if (r == 0)
		r = syscap_note_context_since(&self->notes, when, tid, record->trace_context);
	if (r == 0 && record->event)
		r = add_event(self, when, tid, record, &addresses);
	if (r == 0)
		r = put_samples(self, when, tid, &addresses, record);
	if (r == 0 && record->time - self->counters.time >= NANOSECONDS_A_SECOND)
		r = syscap_counters_put(&self->counters, record->time);
	return r;
}

/* Keeps the addresses of an allocation stack, because each allocation is written with its stack. */
static int add_heap_stack(void *data, const struct named_stack *stack,
			  const struct wire_heap_stack *record)
{
	struct syscap_format *self = data;
	struct addresses addresses;
	uint32_t end = record->end;
	int32_t pid;
	int r = find_pid(self, stack, &pid);

	addresses.n = addresses.context = 0;
	if (r == 0)
		r = find_addresses(self, stack, &addresses, &end);
	if (r == 0)
		r = add_reason(self, end, record->time, &addresses);
	if (r == 0)
		r = heap_allocations_add_stack(&self->allocations, record->number, addresses.list,
					       addresses.n);
	return r;
}

static int put_heap_event(struct syscap_format *self, int32_t pid, const struct heap_event *event)
{
	struct syscap_time when = { event->time, pid, -1 };
	/* Sysprof takes a size of 0 for a free. */
	uint64_t size = event->size ? event->size : 1;
	const uint64_t *addresses;
	size_t n;

	if (!heap_event_has_size(event->kind) || event->kind == HEAP_EVENT_UNMAPPED)
		return syscap_put_allocation(&self->syscap, when, event->tid, event->address, 0,
					     NULL, 0);
	addresses = heap_allocations_stack(&self->allocations, event->stack, &n);
	return syscap_put_allocation(&self->syscap, when, event->tid, event->address, size,
				     addresses, n);
}

static int add_heap_events(void *data, const struct wire_heap_events *events)
{
	struct syscap_format *self = data;
	struct heap_event_reader reader = heap_event_reader(events);
	const uint64_t *pid = syscap_pids_find(&self->pids, events->process);
	struct heap_event event;
	int r = 0;

	while (pid && r == 0 && heap_event_next(&reader, &event)) {
		struct heap_event freed;
		bool is_due;

		r = heap_allocations_take(&self->allocations, events->process, &event, &freed,
					  &is_due);
		if (r == 0 && freed.address)
			r = put_heap_event(self, *pid, &freed);
		if (r == 0 && is_due)
			r = put_heap_event(self, *pid, &event);
	}
	return r;
}

/* capture-source recognizes this text. */
static int add_heap_lost(void *data, const struct wire_heap_lost *lost)
{
	struct syscap_format *self = data;
	struct syscap_time when = { lost->time, -1, -1 };
	char text[128];
	int r = 0;

	snprintf(text, sizeof(text), SYSCAP_LOST_ALLOCATIONS, lost->n_allocated, lost->n_bytes,
		 lost->n_freed, lost->n_calls);
	if (lost->flags & WIRE_heap_lost_flags_FORGED)
		r = find_pid_of(self, lost->process, lost->time, &when.pid);
	if (r == 0 && when.pid >= 0)
		r = syscap_put_log(&self->syscap, when, SEVERITY_WARNING, "stackpipe",
				   SYSCAP_FORGED_ALLOCATIONS);
	when.pid = -1;
	return r < 0 ? r : syscap_put_log(&self->syscap, when, SEVERITY_WARNING, "stackpipe", text);
}

static bool is_living(uint64_t pid, void *arg)
{
	const struct syscap_format *self = arg;

	return pair_map_find(&self->emitted_names, pid, 0);
}

static bool is_of_living_process(uint64_t pid, uint64_t mapping, uint64_t value, void *arg)
{
	return is_living(pid, arg);
}

/* Forgets an ended process, to which no later record refers, but not that its PID was used. */
static int exit_process(void *data, const struct process *process, uint64_t time)
{
	struct syscap_format *self = data;
	const uint64_t *pid = syscap_pids_find(&self->pids, process->number);
	struct syscap_time when = { time, pid ? *pid : 0, -1 };

	if (!pid)
		return 0;
	pair_map_remove(&self->emitted_names, *pid, 0);
	syscap_pids_forget(&self->pids, process->number);
	pair_map_prune(&self->mappings, is_of_living_process, self);
	syscap_symbols_put_away(&self->symbols, is_living, self);
	return syscap_put_exit(&self->syscap, when);
}

static int add_message(void *data, const struct wire_message *message)
{
	struct syscap_format *self = data;
	struct syscap_time when = { message->time, -1, -1 };
	char text[1100], domain[32];

	return syscap_put_log(&self->syscap, when,
			      message->severity == WIRE_severity_INFO ? SEVERITY_MESSAGE
								      : SEVERITY_WARNING,
			      text_clean_string(message->stage.data, domain, sizeof(domain)),
			      text_clean_string(message->text.data, text, sizeof(text)));
}

static int add_lost(void *data, const struct wire_lost *lost)
{
	struct syscap_format *self = data;
	struct syscap_time when = { lost->time, -1, lost->cpu };
	char text[64];
	int r;

	snprintf(text, sizeof(text), "Lost %" PRIu64 " events", lost->n);
	sum_add(&self->counters.n_lost, lost->n);
	r = syscap_put_log(&self->syscap, when, SEVERITY_WARNING, "stackpipe", text);
	return r < 0 ? r : syscap_counters_put(&self->counters, lost->time);
}

static int add_file(void *data, const struct wire_file *file)
{
	struct syscap_format *self = data;
	int r;

	if (gzip_is_path_of(file->path.data, "/proc/kallsyms")) {
		if (self->stacks->has_symbols)
			return 0; /* a reduced one is written at the end */
		self->has_kallsyms = true;
	}
	r = syscap_files_add(&self->files, file);
	if (r == SYSCAP_FILE_TOO_LARGE)
		++*counters_get(&self->stage->counters, "refused", "pieces-of-files");
	return r < 0 ? r : 0;
}

/* The kernel's function names. Without the file Sysprof complains when it opens the capture. */
static int put_kallsyms(struct syscap_format *self)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = syscap_make_kallsyms(&self->kernel, &self->stacks->names, &text, &size);

	return r < 0 ? r
		     : syscap_files_put_whole(&self->files, "/proc/kallsyms",
					      self->stacks->last_time, text, size);
}

static void put_if_provisional(uint64_t name, uint64_t zero, uint64_t address, void *arg)
{
	struct syscap_format *self = arg;
	struct syscap_time when = { self->stacks->last_time, -1, -1 };

	/* The next write reports a full output. */
	if (names_is_provisional(&self->stacks->names, name))
		syscap_put_jitmap(&self->syscap, when, address,
				  names_text(&self->stacks->names, name));
}

static int put_bundle(struct syscap_format *self)
{
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r = syscap_symbols_bundle(&self->symbols, &self->stacks->names, &data, &size);

	return r < 0 ? r
		     : syscap_files_put_whole(&self->files, "__symbols__", self->stacks->last_time,
					      data, size);
}

static int put_events(struct syscap_format *self)
{
	const struct events *events = &self->stacks->events;
	char id[64], text[EVENT_NAME_SIZE + 64];
	int r = 0;

	for (uint32_t i = 0; events->n > 1 && i < events->n && r == 0; i++) {
		snprintf(id, sizeof(id), SYSCAP_EVENT_ID, i);
		syscap_event_text(&events->list[i], text, sizeof(text));
		r = put_metadata(self, id, text);
	}
	return r < 0 ? r : syscap_notes_end(&self->notes, self->stacks->last_time);
}

static int put_totals(struct syscap_format *self)
{
	uint64_t n_samples = 0;
	char id[64];
	int r = 0;

	for (uint32_t i = 0; i < STACKS_ENDS && r == 0; i++) {
		const char *name = stacks_end_name(i);

		sum_add(&n_samples, self->stacks->n_ends[i]);
		if (!self->stacks->n_ends[i])
			continue;
		snprintf(id, sizeof(id), "stackpipe.%s", name);
		r = put_metadata_number(self, id, self->stacks->n_ends[i]);
	}
	if (r == 0 && n_samples != self->n_put)
		r = -ENOTRECOVERABLE;
	if (r == 0)
		r = put_metadata_number(self, "stackpipe.samples", n_samples);
	if (r == 0)
		r = put_metadata_number(self, "stackpipe.lost", self->stacks->n_lost);
	if (r == 0 && self->stacks->n_skipped)
		r = put_metadata_number(self, "stackpipe.left-out", self->stacks->n_skipped);
	return r;
}

/* The last frame, once all others are written: a capture without it was cut. */
static int put_state(struct syscap_format *self, bool is_whole)
{
	int r = put_metadata(self, SYSCAP_STATE_ID,
			     is_whole ? SYSCAP_STATE_COMPLETE : SYSCAP_STATE_INCOMPLETE);

	return r < 0 ? r : output_flush(self->output);
}

static int end_file(void *data, bool is_whole)
{
	struct syscap_format *self = data;
	int r = put_totals(self);

	self->counters.n_lost = self->stacks->n_lost;
	if (r == 0)
		r = put_events(self);
	if (r == 0)
		r = syscap_counters_put(&self->counters, self->stacks->last_time);
	pair_map_each(&self->jitmap, put_if_provisional, self);
	if (r == 0 && self->stacks->has_symbols)
		r = put_bundle(self);
	if (r == 0 && !self->has_kallsyms)
		r = put_kallsyms(self);
	if (r == 0)
		r = output_flush(self->output);
	if (r == 0)
		r = syscap_set_end_time(&self->syscap, self->stacks->last_time);
	if (r == 0)
		r = put_state(self, is_whole);
	return r;
}

static void free_all(void *data)
{
	struct syscap_format *self = data;

	syscap_files_deinit(&self->files);
	syscap_notes_deinit(&self->notes);
	syscap_pids_deinit(&self->pids);
	pair_map_deinit(&self->emitted_names);
	pair_map_deinit(&self->mappings);
	syscap_symbols_deinit(&self->symbols);
	pair_map_deinit(&self->jitmap);
	pair_map_deinit(&self->kernel);
	heap_allocations_deinit(&self->allocations);
}

static const struct stream_format stream = {
	.size = sizeof(struct syscap_format),
	.begin = begin,
	.add_frame = add_frame,
	.add_stack = add_stack,
	.add_heap_stack = add_heap_stack,
	.add_heap_events = add_heap_events,
	.add_heap_lost = add_heap_lost,
	.add_mark = add_mark,
	.add_counter = add_counter,
	.add_counter_values = add_counter_values,
	.add_thread_time = add_thread_time,
	.add_resource_attribute = add_resource_attribute,
	.add_trace_context = add_trace_context,
	.add_trace_attribute = add_trace_attribute,
	.add_file = add_file,
	.add_message = add_message,
	.add_lost = add_lost,
	.exit_process = exit_process,
	.end = end_file,
	.free = free_all,
};

const struct format format_syscap = { .stream = &stream };
