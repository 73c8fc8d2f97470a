/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/rule-cache.h"

int rule_cache_init(struct rule_cache *cache, struct table_store *tables)
{
	cache->tables = tables;
	return call_sites_new(tables->files, &cache->call_sites);
}

void rule_cache_deinit(struct rule_cache *cache)
{
	cache->call_sites = call_sites_free(cache->call_sites);
}

/* Whether this lookup may be cached: its state is final. */
static bool is_settled(const struct stored_table *entry)
{
	return entry && entry->state != TABLE_PENDING &&
	       (entry->state != TABLE_NO_FILE || !entry->image ||
		entry->image->kind != WIRE_image_kind_FILE);
}

const struct stored_table *rule_cache_table(struct rule_cache *cache, uint64_t image)
{
	struct cached_table *cached = &cache->entries[image & (TABLE_STORE_CACHED - 1)];
	const struct stored_table *entry;

	if (cache->n_removed != cache->tables->n_removed) {
		memset(cache->entries, 0, sizeof(cache->entries));
		cache->n_removed = cache->tables->n_removed;
	}
	if (cached->image == image && cached->entry)
		return cached->entry;
	entry = table_store_get(cache->tables, image);
	cached->image = image;
	cached->entry = is_settled(entry) ? entry : NULL;
	return entry;
}

const struct unwind_rule *rule_cache_look_up(const struct stored_table *entry, uint64_t offset)
{
	const struct unwind_rule *given = image_user_rules_find(&entry->user_rules, offset);

	if (!given)
		given = switched_stacks_rule(&entry->switched, offset);
	if (given)
		return given;
	return entry->state == TABLE_READY ? unwind_table_find(&entry->table, offset) : NULL;
}

/* A return address that the kernel or a runtime made need not be behind a call. */
static bool needs_call(const struct unwind_rule *rule)
{
	return !(rule->flags & (UNWIND_FLAG_SIGNAL | UNWIND_FLAG_USER_RULE)) &&
	       rule->return_address != UNWIND_VALUE_UNDEFINED;
}

static bool lacks_call(struct rule_cache *cache, const struct stored_table *entry, uint64_t offset,
		       const struct unwind_rule *rule)
{
	return needs_call(rule) && entry->image &&
	       call_sites_find(cache->call_sites, entry->image->number, offset + 1) ==
		       UNWIND_CALL_NONE;
}

bool rule_cache_look_for_call(struct rule_cache *cache, const struct stored_table *entry,
			      uint64_t offset, const struct unwind_rule *rule)
{
	bool lacks = lacks_call(cache, entry, offset, rule);
	struct cached_rule *cached = cached_rule_at(cache, cached_rule_place(entry, offset));

	if (rule == &cached->rule)
		cached->rule.flags |= lacks ? RULE_NO_CALL : RULE_CALL;
	return lacks;
}
