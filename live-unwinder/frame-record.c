/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/frame-record.h"

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

/* A return address in a file, and the rule at its call. */
struct return_place {
	uint64_t image;
	enum unwind_call call;
	const struct unwind_rule *rule; /* at the call; NULL: none */
};

/* false: not code of a file that has a table. */
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
		.image = mapping->image,
		.call = call_sites_find(look->cache->call_sites, mapping->image, offset),
		.rule = rule_cache_look_up(entry, offset - 1),
	};
	return true;
}

/*
 * Whether a frame that returns from `at`, by its rule, is real: its own caller called it too, or
 * its rule is that of an outermost frame.
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
 * An indirect call leads from a file's code to JIT code. A word like its return address may be left
 * over from an earlier call, so the frame must have a caller, too.
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

bool frame_record_find_call(const struct unwinding *unwinding, struct rule_cache *cache,
			    uint64_t sp, struct frame_record *ret)
{
	const struct record_look look = { unwinding, cache, sp, 0 };
	const struct made_calls *calls = &unwinding->calls;
	const struct mapping *interpreter =
		mapping_table_find(process_mappings(unwinding->process), calls->interpreter);
	struct return_place place;

	for (uint32_t i = 0; i < calls->words; i++) {
		ret->at = sp + i * sizeof(sp);
		if (!read_word(unwinding, ret->at, &ret->pc))
			return false;
		if (find_place(&look, ret->pc, &place) && place.call != UNWIND_CALL_NONE)
			return interpreter && place.image == interpreter->image && place.rule &&
			       place.call == UNWIND_CALL_INDIRECT;
	}
	return false;
}

bool frame_record_find_rule(const struct unwinding *unwinding, struct rule_cache *cache,
			    uint64_t sp, uint64_t fp, uint64_t more, const struct unwind_rule **ret)
{
	const struct record_look look = { unwinding, cache, sp, fp };
	struct return_place loop, place;
	uint64_t cfa, pc;

	if (!find_place(&look, unwinding->calls.interpreter, &loop) || !loop.rule ||
	    loop.rule->return_address != UNWIND_VALUE_AT_CFA)
		return false;
	cfa = loop.rule->cfa_offset;
	if (loop.rule->cfa == UNWIND_CFA_SP)
		cfa += sp + more;
	else if (loop.rule->cfa == UNWIND_CFA_FP)
		cfa += fp;
	else
		return false;
	*ret = loop.rule;
	return cfa > sp && read_word(unwinding, cfa + loop.rule->return_address_offset, &pc) &&
	       find_place(&look, pc, &place) && place.image == loop.image && place.rule &&
	       place.call == UNWIND_CALL_INDIRECT;
}

bool frame_record_may_be_made(const struct stored_table *entry)
{
	return entry && entry->state == TABLE_NO_FILE &&
	       entry->end == WIRE_stack_end_NO_UNWIND_INFO && entry->image &&
	       entry->image->kind != WIRE_image_kind_SPECIAL;
}

/* Whether a call in one of V8's builtins precedes an address. */
static bool is_behind_builtin(const struct mapping *mapping, const struct stored_table *entry,
			      struct rule_cache *cache, struct v8_builtins *builtins, uint64_t pc)
{
	uint64_t offset = pc - mapping->start + mapping->offset;

	return entry && entry->state == TABLE_READY && entry->image &&
	       !rule_cache_look_up(entry, offset - 1) &&
	       v8_builtins_has(builtins, entry->image, offset - 1) &&
	       call_sites_find(cache->call_sites, mapping->image, offset) != UNWIND_CALL_NONE;
}

/* Reads a stack word; false: it does not lead into JIT code, nor behind a call of a builtin. */
static bool read_made(const struct unwinding *unwinding, struct rule_cache *cache,
		      struct v8_builtins *builtins, uint64_t address, uint64_t *ret)
{
	const struct mapping *mapping =
		read_word(unwinding, address, ret) && *ret
			? mapping_table_find(process_mappings(unwinding->process), *ret - 1)
			: NULL;
	const struct stored_table *entry = mapping ? rule_cache_table(cache, mapping->image) : NULL;

	return entry && (frame_record_may_be_made(entry) ||
			 is_behind_builtin(mapping, entry, cache, builtins, *ret));
}

bool frame_record_find_unmade(const struct unwinding *unwinding, struct rule_cache *cache,
			      struct v8_builtins *builtins, uint64_t sp, uint64_t fp,
			      struct frame_record *ret)
{
	uint64_t pushed;

	ret->fp = fp;
	ret->at = sp - sizeof(fp);
	if (!unwinding->arch->frame_record_size || fp == sp)
		return false;
	if (read_made(unwinding, cache, builtins, sp, &ret->pc))
		return true;
	ret->at = sp;
	return read_word(unwinding, sp, &pushed) && pushed == fp &&
	       read_made(unwinding, cache, builtins, sp + sizeof(fp), &ret->pc);
}
