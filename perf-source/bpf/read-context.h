/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the context of the current thread, in the moment of a sample. */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "common/stream/thread-context.h"
#include "common/wire/wire.h"
#include "perf-source/bpf/context-place.h"

/* By PID. context.bpf.c removes processes that end or execute another program. */
struct context_places {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONTEXT_PLACES_MAX);
	__type(key, uint32_t);
	__type(value, struct context_place);
};

enum { CONTEXT_ATTRIBUTES_MAX = WIRE_THREAD_CONTEXT_MAX - sizeof(struct thread_context) };

/*
 * What the thread pointer points to: the C library's data of the thread, which begins with the
 * pointer itself. glibc has it again in the third word (tcbhead_t), musl the previous and the next
 * thread: in a program with one thread that is itself (struct pthread).
 */
struct thread_data {
	uint64_t self;
	uint64_t blocks; /* an array with the thread's block of each module */
	uint64_t previous_or_self, next;
};

/*
 * Finds the thread's block of a module; 0: it has none, as it has not used it yet. Returns an enum
 * wire_context_state: READ, or ABSENT.
 */
static __always_inline uint32_t find_block(const struct thread_data *data, uint64_t module,
					   uint64_t *block)
{
	bool is_glibc = data->previous_or_self == data->self && data->next != data->self;
	/* glibc's entries have two words, and the array's size comes before the first one. */
	uint64_t entry_size = is_glibc ? 2 * sizeof(uint64_t) : sizeof(uint64_t), n;
	uint64_t blocks = data->blocks;

	*block = 0;
	if (bpf_probe_read_user(&n, sizeof(n),
				(const void *)(is_glibc ? blocks - entry_size : blocks)))
		return WIRE_context_state_ABSENT;
	if (module > n)
		return WIRE_context_state_READ;
	if (bpf_probe_read_user(block, sizeof(*block),
				(const void *)(blocks + module * entry_size)))
		return WIRE_context_state_ABSENT;
	if (*block == UINT64_MAX) /* glibc: not allocated yet */
		*block = 0;
	return WIRE_context_state_READ;
}

/* Finds the address of the variable. Returns an enum wire_context_state. */
static __always_inline uint32_t find_variable(const struct context_place *place, uint64_t base,
					      uint64_t *variable)
{
	struct thread_data data;
	uint64_t block;
	uint32_t state;

	if (bpf_probe_read_user(&data, sizeof(data), (const void *)base))
		return WIRE_context_state_ABSENT;
	if (data.self != base)
		return WIRE_context_state_DETACHED;
	*variable = base + place->offset;
	if (place->kind == CONTEXT_PLACE_STATIC)
		return WIRE_context_state_READ;
	state = find_block(&data, place->module, &block);
	*variable = block + place->offset;
	return state == WIRE_context_state_READ && !block ? WIRE_context_state_DETACHED : state;
}

/* Reads the attributes behind a head. Returns an enum wire_context_state. */
static __always_inline uint32_t read_attributes(const struct thread_context *head, uint64_t address,
						char bytes[WIRE_THREAD_CONTEXT_MAX], uint64_t *size)
{
	uint32_t state = WIRE_context_state_READ;
	uint64_t n = head->attributes_size;

	if (n > CONTEXT_ATTRIBUTES_MAX) {
		n = CONTEXT_ATTRIBUTES_MAX;
		state = WIRE_context_state_CUT;
	}
	barrier_var(n); /* the verifier must see the value itself compared */
	if (n > CONTEXT_ATTRIBUTES_MAX ||
	    bpf_probe_read_user(bytes + sizeof(*head), n, (const void *)(address + sizeof(*head))))
		return WIRE_context_state_CUT;
	*size = sizeof(*head) + n;
	return state;
}

/*
 * Reads the context of the current thread into `bytes`. Returns an enum wire_context_state; 0: its
 * process has none.
 */
static __always_inline uint32_t read_context(void *places, struct task_struct *task,
					     char bytes[WIRE_THREAD_CONTEXT_MAX], uint64_t *size)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT;
	const struct context_place *place = bpf_map_lookup_elem(places, &pid);
	struct thread_context *head = (void *)bytes;
	uint64_t variable, address;
	uint32_t state;

	*size = 0;
	if (!place || place->kind == CONTEXT_PLACE_UNKNOWN)
		return 0;
	state = find_variable(place, task->thread.fsbase, &variable);
	if (state != WIRE_context_state_READ)
		return state;
	if (bpf_probe_read_user(&address, sizeof(address), (const void *)variable))
		return WIRE_context_state_ABSENT;
	if (!address)
		return WIRE_context_state_DETACHED;
	if (bpf_probe_read_user(head, sizeof(*head), (const void *)address))
		return WIRE_context_state_ABSENT;
	*size = sizeof(*head);
	if (head->valid != THREAD_CONTEXT_IS_VALID || !head->attributes_size)
		return WIRE_context_state_READ;
	return read_attributes(head, address, bytes, size);
}
