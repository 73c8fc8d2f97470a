/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a walk of any kind begins and ends. */
#pragma once

#include "perf-source/bpf/read-object.h"

/* Loops of the kernel call them: walk-callbacks.h. */
struct walk_callbacks {
	long (*element)(uint32_t i, void *walk);
	long (*code)(uint32_t i, void *walk);
	long (*kept)(uint32_t i, void *walk);
	long (*source)(uint32_t i, void *walk);
	/* Of frames (read-frames.h). */
	long (*frame)(uint32_t i, void *walk);
	long (*made)(uint32_t i, void *walk);
	/* Of stacks of made code (read-own-stack.h). */
	long (*slot)(uint32_t i, void *walk);
	long (*function)(uint32_t i, void *walk);
	/* Of managed code (read-managed.h). */
	long (*stack_words)(uint32_t i, void *walk);
	long (*keep_managed)(uint32_t i, void *walk);
	long (*managed)(uint32_t i, void *walk);
};

/*
 * Where the current thread has the value of a key; 0: the key is not in use, or it is not a thread
 * of glibc (tcbhead_t), as others have no such place.
 */
static __always_inline uint64_t walk_find_key(const struct walk_root *root, uint64_t thread)
{
	uint64_t block = thread + WALK_KEYS, blocks = thread + WALK_KEY_BLOCKS;
	uint32_t key = 0, flag = 1;

	if (root->flag)
		bpf_probe_read_user(&flag, sizeof(flag), (const void *)(root->start + root->flag));
	if (flag != 1 || walk_read_pointer(thread) != thread ||
	    walk_read_pointer(thread + WALK_TCB_SELF) != thread ||
	    bpf_probe_read_user(&key, sizeof(key), (const void *)root->start) ||
	    key >= WALK_KEYS_MAX)
		return 0;
	if (key >= WALK_KEYS_FIRST)
		block = walk_read_pointer(blocks) == block
				? walk_read_pointer(blocks + key / WALK_KEYS_FIRST * sizeof(block))
				: 0;
	return block ? block + key % WALK_KEYS_FIRST * WALK_KEY_SIZE + WALK_KEY_VALUE : 0;
}

/* Where the current thread has a variable of a module; 0: it has none yet. */
static __always_inline uint64_t walk_find_in_module(uint64_t index, uint64_t thread)
{
	uint64_t module = walk_read_pointer(index), block;

	if (!module || module >= WALK_MODULES_MAX || walk_read_pointer(thread) != thread)
		return 0;
	block = walk_read_pointer(walk_read_pointer(thread + WALK_TCB_DTV) +
				  module * WALK_DTV_ENTRY);
	/* A block that is not allocated is at -1. */
	return block >> WALK_USER_BITS ? 0 : block + walk_read_pointer(index + sizeof(index));
}

/*
 * The address of the first element; 0: the thread has none. `frame`: or what the stack keeps, or
 * the register.
 */
__noinline uint64_t walk_find_root(const struct walk_root *root, uint64_t thread, uint64_t frame)
{
	uint64_t at = 0;

	if (!root)
		return 0;
	at = root->base == WALK_BASE_ADDRESS ? root->start : 0;
	if (root->base == WALK_BASE_FRAME || root->base == WALK_BASE_REGISTER)
		at = frame;
	if (root->base == WALK_BASE_KEPT)
		at = frame ? frame + root->start : 0;
	if (root->base == WALK_BASE_THREAD)
		at = thread + root->start;
	if (root->base == WALK_BASE_THREAD_KEY)
		at = walk_find_key(root, thread);
	if (root->base == WALK_BASE_MODULE)
		at = walk_find_in_module(root->start, thread);
	for (uint32_t i = 0; i < WALK_LOADS_MAX && i < root->n_loads && at; i++) {
		at = walk_read_pointer(at);
		if (i == 0 && root->self >= 0 && at && walk_read_pointer(at + root->self) != thread)
			return 0;
		at = at ? at + root->loads[i] : 0;
	}
	return at;
}

static __always_inline long walk_stop(struct walk *walk, enum wire_walk_end end)
{
	walk->work->state.end = end;
	return 1;
}

/* Writes the head of a list, which lies at `at`. */
static __always_inline void walk_end_list(struct walk *walk, uint64_t at)
{
	barrier_var(at);
	if (at > SAMPLE_PART_MAX - sizeof(struct walk_list_head))
		return;
	*(struct walk_list_head *)(walk->bytes + at) = (struct walk_list_head){
		.list = walk->work->state.number,
		.window = walk->work->state.window,
		.n = walk->work->state.n,
		.end = walk->work->state.end,
	};
}
