/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the context of the current thread, in the moment of a sample. */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "common/wire/wire.h"
#include "perf-source/bpf/context-place.h"

/* By PID. context.bpf.c removes processes that end or execute another program. */
struct context_places {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONTEXT_PLACES_MAX);
	__type(key, uint32_t);
	__type(value, struct context_place);
};

/* The head of OTEP 4947's record; so many bytes of attributes follow. */
struct context_head {
	uint8_t trace_id[WIRE_TRACE_ID_SIZE], span_id[WIRE_SPAN_ID_SIZE];
	uint8_t valid, flags;
	uint16_t attributes_size;
} __attribute__((packed));

enum {
	CONTEXT_IS_VALID = 1,
	CONTEXT_ATTRIBUTES_MAX = WIRE_THREAD_CONTEXT_MAX - sizeof(struct context_head),
};

/* What the thread pointer points to: the C library's data of the thread. */
struct thread_data {
	uint64_t self;	  /* both libraries have the pointer itself here */
	uint64_t blocks;  /* an array with the thread's block of each module */
	uint64_t self_or; /* glibc: the pointer itself again; musl: the previous thread */
};

/* A thread has no block of a module before it uses it. 0: none, or not in memory. */
static __always_inline uint64_t find_block(const struct thread_data *data, uint64_t module)
{
	bool is_glibc = data->self_or == data->self;
	/* glibc's entries have two words, and the array's size comes before the first one. */
	uint64_t entry_size = is_glibc ? 2 * sizeof(uint64_t) : sizeof(uint64_t), n, block;
	uint64_t blocks = data->blocks;

	if (bpf_probe_read_user(&n, sizeof(n),
				(const void *)(is_glibc ? blocks - entry_size : blocks)) ||
	    module > n)
		return 0;
	if (bpf_probe_read_user(&block, sizeof(block),
				(const void *)(blocks + module * entry_size)))
		return 0;
	return block == UINT64_MAX ? 0 : block; /* glibc: not allocated yet */
}

/* The address of the variable; 0: the thread has none yet. */
static __always_inline uint64_t find_variable(const struct context_place *place, uint64_t base)
{
	struct thread_data data;
	uint64_t block;

	if (bpf_probe_read_user(&data, sizeof(data), (const void *)base) || data.self != base)
		return 0;
	if (place->kind == CONTEXT_PLACE_STATIC)
		return base + place->offset;
	block = find_block(&data, place->module);
	return block ? block + place->offset : 0;
}

/* Reads the attributes behind a head. Returns an enum wire_context_state. */
static __always_inline uint32_t read_attributes(const struct context_head *head, uint64_t address,
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
	struct context_head *head = (void *)bytes;
	uint64_t variable, address;

	*size = 0;
	if (!place || place->kind == CONTEXT_PLACE_UNKNOWN)
		return 0;
	variable = find_variable(place, task->thread.fsbase);
	if (!variable)
		return WIRE_context_state_DETACHED;
	if (bpf_probe_read_user(&address, sizeof(address), (const void *)variable))
		return WIRE_context_state_ABSENT;
	if (!address)
		return WIRE_context_state_DETACHED;
	if (bpf_probe_read_user(head, sizeof(*head), (const void *)address))
		return WIRE_context_state_ABSENT;
	*size = sizeof(*head);
	if (head->valid != CONTEXT_IS_VALID || !head->attributes_size)
		return WIRE_context_state_READ;
	return read_attributes(head, address, bytes, size);
}
