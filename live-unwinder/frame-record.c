/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/frame-record.h"

/* Of a sample, what is looked at. */
struct record_look {
	const struct unwinding *unwinding;
	struct rule_cache *cache;
	uint64_t sp, fp;
};

static bool read_word(const struct unwinding *unwinding, uint64_t address, uint64_t *ret)
{
	uint64_t start = unwinding_register(unwinding, unwinding->arch->sp);

	return stack_read_word(&unwinding->sample->stack, start, address, ret);
}

/* A return address to a file of which a table tells how to go on. */
struct return_place {
	enum unwind_call call;
	const struct unwind_rule *rule; /* of the call; NULL: there is none */
};

/* false: it leads to no code of a file. */
static bool find_place(const struct record_look *look, uint64_t pc, struct return_place *ret)
{
	const struct mapping *mapping =
		pc ? mapping_table_find(process_mappings(look->unwinding->process), pc - 1) : NULL;
	const struct stored_table *entry =
		mapping ? rule_cache_table(look->cache, mapping->image) : NULL;
	uint64_t offset;

	if (!entry || entry->state != TABLE_READY)
		return false;
	offset = pc - mapping->start + mapping->offset;
	*ret = (struct return_place){
		.call = call_sites_find(look->cache->call_sites, mapping->image, offset),
		.rule = rule_cache_look_up(entry, offset - 1),
	};
	return true;
}

/*
 * Whether a frame that returns from `at`, by the rule of its place, is a frame indeed: what has
 * called it has been a call, too, or the record is its own.
 */
static bool is_frame(const struct record_look *look, const struct unwind_rule *rule, uint64_t at)
{
	uint64_t cfa = at + sizeof(at), pc;
	struct return_place caller;

	if (rule->return_address == UNWIND_VALUE_UNDEFINED)
		return true;
	if (rule->return_address != UNWIND_VALUE_AT_CFA)
		return false;
	if (rule->cfa == UNWIND_CFA_SP)
		cfa += rule->cfa_offset;
	else if (rule->cfa == UNWIND_CFA_FP)
		cfa = look->fp + rule->cfa_offset;
	else
		return false;
	return cfa > at && read_word(look->unwinding, cfa + rule->return_address_offset, &pc) &&
	       find_place(look, pc, &caller) && caller.rule &&
	       (caller.call == UNWIND_CALL_DIRECT || caller.call == UNWIND_CALL_INDIRECT);
}

/*
 * Code of a file comes to code that was made by an indirect call. A word that looks like its return
 * address may be left over from an earlier call; so it has to have a caller as well.
 */
static bool is_above_other_frame(const struct record_look *look)
{
	uint64_t end = look->sp + FRAME_RECORD_WORDS_MAX * sizeof(end), pc;
	struct return_place place;

	if (end > look->fp)
		end = look->fp;
	for (uint64_t at = look->sp; at < end; at += sizeof(at))
		if (read_word(look->unwinding, at, &pc) && find_place(look, pc, &place) &&
		    place.call == UNWIND_CALL_INDIRECT && place.rule &&
		    is_frame(look, place.rule, at))
			return true;
	return false;
}

bool frame_record_find(const struct unwinding *unwinding, struct rule_cache *cache, uint64_t sp,
		       uint64_t fp, struct frame_record *ret)
{
	const struct record_look look = { unwinding, cache, sp, fp };
	struct return_place place;

	ret->at = fp;
	if (!unwinding->arch->frame_record_size || fp < sp || fp % sizeof(fp) ||
	    !read_word(unwinding, fp, &ret->fp) || !read_word(unwinding, fp + sizeof(fp), &ret->pc))
		return false;
	ret->pc &= unwinding->arch->code_mask;
	if (!mapping_table_find(process_mappings(unwinding->process), ret->pc - 1))
		return false;
	if (find_place(&look, ret->pc, &place) && place.call == UNWIND_CALL_NONE)
		return false;
	return !is_above_other_frame(&look);
}

bool frame_record_may_be_made(const struct stored_table *entry)
{
	return entry && entry->state == TABLE_NO_FILE &&
	       entry->end == WIRE_stack_end_NO_UNWIND_INFO && entry->image &&
	       entry->image->kind != WIRE_image_kind_SPECIAL;
}

/* A word of the stack that leads to made code. */
static bool read_made(const struct unwinding *unwinding, struct rule_cache *cache, uint64_t address,
		      uint64_t *ret)
{
	const struct mapping *mapping =
		read_word(unwinding, address, ret) && *ret
			? mapping_table_find(process_mappings(unwinding->process), *ret - 1)
			: NULL;

	return mapping && frame_record_may_be_made(rule_cache_table(cache, mapping->image));
}

bool frame_record_find_unmade(const struct unwinding *unwinding, struct rule_cache *cache,
			      uint64_t sp, uint64_t fp, struct frame_record *ret)
{
	uint64_t pushed;

	ret->fp = fp;
	ret->at = sp - sizeof(fp);
	if (!unwinding->arch->frame_record_size || fp == sp)
		return false;
	if (read_made(unwinding, cache, sp, &ret->pc))
		return true;
	ret->at = sp;
	return read_word(unwinding, sp, &pushed) && pushed == fp &&
	       read_made(unwinding, cache, sp + sizeof(fp), &ret->pc);
}
