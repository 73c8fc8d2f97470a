/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Caches rules and tables across all processes, as most frames recur. A rule is cached by its
 * location in a file, and with it whether a call precedes the return address.
 */
#pragma once

#include "common/base/hash.h"
#include "live-unwinder/call-sites.h"
#include "live-unwinder/table-store.h"

enum {
	RULES_CACHED = 16384,	 /* a power of two */
	TABLE_STORE_CACHED = 64, /* a power of two */
	/* Flags of a cached rule: whether a call returns to the byte behind it, if checked. */
	RULE_CALL = 1 << 29,
	RULE_NO_CALL = 1 << 30,
};

/* The rule for a location; `rule.cfa` is 0 if there is none. */
struct cached_rule {
	uint64_t place; /* table id and file offset */
	struct unwind_rule rule;
};

struct cached_table {
	uint64_t image;
	const struct stored_table *entry; /* NULL: unused */
};

enum { CACHE_LINE = 64 };

struct rule_cache {
	struct cached_rule rules[RULES_CACHED]; /* two in a cache line, none across two */
	struct cached_table entries[TABLE_STORE_CACHED];
	uint64_t n_removed; /* of `tables` when entries were cached */
	struct table_store *tables;
	struct call_sites *call_sites; /* owned */
} __attribute__((aligned(CACHE_LINE)));

/* `cache` is large and must be zeroed; `tables` is borrowed. 0 or -ENOMEM. */
int rule_cache_init(struct rule_cache *cache, struct table_store *tables);
void rule_cache_deinit(struct rule_cache *cache);

/* The table of an image; see table_store_get(). */
const struct stored_table *rule_cache_table(struct rule_cache *cache, uint64_t image);

/* The rule at a file offset, past the cache; NULL: none. */
const struct unwind_rule *rule_cache_look_up(const struct stored_table *entry, uint64_t offset);

static inline uint64_t cached_rule_place(const struct stored_table *entry, uint64_t offset)
{
	return (uint64_t)entry->id << 32 | (uint32_t)offset;
}

static inline struct cached_rule *cached_rule_at(struct rule_cache *cache, uint64_t place)
{
	return &cache->rules[hash_place(place, RULES_CACHED)];
}

/* The rule at a file offset; NULL: none. Valid until the next call. */
static inline const struct unwind_rule *rule_cache_find(struct rule_cache *cache,
							const struct stored_table *entry,
							uint64_t offset)
{
	uint64_t place = cached_rule_place(entry, offset);
	struct cached_rule *cached = cached_rule_at(cache, place);
	const struct unwind_rule *rule;

	/* A pending table may still change. */
	if (offset >> 32 || entry->state == TABLE_PENDING)
		return rule_cache_look_up(entry, offset);
	if (cached->place != place) {
		rule = rule_cache_look_up(entry, offset);
		cached->place = place;
		if (rule)
			cached->rule = *rule;
		else
			cached->rule.cfa = 0;
	}
	return cached->rule.cfa ? &cached->rule : NULL;
}

/* Checks the code in front of `offset` + 1, whose rule is `rule`. */
bool rule_cache_look_for_call(struct rule_cache *cache, const struct stored_table *entry,
			      uint64_t offset, const struct unwind_rule *rule);

/* Whether no call precedes the return address `offset` + 1. */
static inline bool rule_cache_lacks_call(struct rule_cache *cache, const struct stored_table *entry,
					 uint64_t offset, const struct unwind_rule *rule)
{
	if (rule->flags & (RULE_CALL | RULE_NO_CALL))
		return rule->flags & RULE_NO_CALL;
	return rule_cache_look_for_call(cache, entry, offset, rule);
}
