/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel's loops of a walk call. Only a BPF program can name its maps: it has
 * `walk_seen`, `walk_codes` and `parts`, into which all is emitted, in front of this file.
 */
#pragma once

#include "perf-source/bpf/read-walk.h"

uint64_t walk_is_seen(uint64_t place, uint64_t item)
{
	uint32_t key = place % WALK_SEEN_SETS;
	const struct walk_seen_set *set = bpf_map_lookup_elem(&walk_seen, &key);
	bool is_in = !set;

	for (uint32_t i = 0; set && i < WALK_SEEN_WAYS; i++)
		is_in |= set->items[i] == item;
	return is_in;
}

uint64_t walk_see(uint64_t place, uint64_t item)
{
	uint32_t key = place % WALK_SEEN_SETS, at = item % WALK_SEEN_WAYS;
	struct walk_seen_set *set = bpf_map_lookup_elem(&walk_seen, &key);

	if (!set)
		return 0;
	for (uint32_t i = 0; i < WALK_SEEN_WAYS; i++)
		at = set->items[i] ? at : i;
	if (at < WALK_SEEN_WAYS)
		*(volatile uint64_t *)&set->items[at] = item;
	return 0;
}

static __always_inline struct walk_maps walk_own_maps(void)
{
	return (struct walk_maps){ .codes = &walk_codes, .parts = &parts };
}

static long walk_step(uint32_t i, void *walk)
{
	return walk_step_back(walk);
}

static long walk_member(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_read_member(walk, &maps);
}

static long walk_code(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_read_code(walk, &maps, walk_step, walk_member);
}

static long walk_element(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_read_element(walk, &maps);
}

static long walk_kept(uint32_t i, void *walk)
{
	return walk_look_for_kept(walk, i);
}

static long walk_source(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_emit_source(walk, &maps);
}

static long walk_frame(uint32_t i, void *walk)
{
	return walk_read_frame(walk);
}

static long walk_made(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_find_made(walk, &maps);
}

static long walk_slot(uint32_t i, void *walk)
{
	return walk_read_slot(walk, i);
}

static long walk_function(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_read_function(walk, &maps, i);
}

static long walk_stack_words(uint32_t i, void *walk)
{
	return walk_read_stack_words(walk, i);
}

static long walk_kept_managed(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_keep_managed(walk, &maps, i);
}

static long walk_managed(uint32_t i, void *walk)
{
	const struct walk_maps maps = walk_own_maps();

	return walk_read_managed(walk, &maps);
}

static const struct walk_callbacks walk_callbacks = {
	.element = walk_element,
	.code = walk_code,
	.kept = walk_kept,
	.source = walk_source,
	.frame = walk_frame,
	.made = walk_made,
	.slot = walk_slot,
	.function = walk_function,
	.stack_words = walk_stack_words,
	.keep_managed = walk_kept_managed,
	.managed = walk_managed,
};
