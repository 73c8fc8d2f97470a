/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "common/unwind/unwind-lookup.h"
#include "preload-source/injected/connection.h"
#include "preload-source/injected/walk.h"

enum {
	WORD = sizeof(uint64_t),
	FRAME_RECORD = 2 * WORD, /* the caller's frame pointer, and the return address */
};

/* How to find the caller at a pc. */
enum walk_kind {
	KIND_NONE,	/* an empty entry of the cache */
	KIND_BY_SP,	/* the CFA is sp + cfa_offset, the return address below it */
	KIND_BY_FP,	/* fp + cfa_offset */
	KIND_WIDE,	/* by the table's own rule */
	KIND_END,	/* no caller */
	KIND_BARE,	/* no unwind information */
	KIND_ANONYMOUS, /* memory of a JIT compiler */
	KIND_UNKNOWN,	/* not in the list of mappings */
	KIND_RAW,	/* none of these */
};

enum walk_fp {
	FP_SAME,
	FP_AT_CFA,
	FP_UNDEFINED,
};

/* The process's first stack pointer (set by glibc's dynamic linker). */
extern void *__libc_stack_end __attribute__((weak));

void walk_forget(struct walker *walker)
{
	for (uint32_t i = 0; i < WALK_RULES_CACHED; i++)
		walker->rules[i].kind = KIND_NONE;
	walker->n_links = 0;
}

/* The list may be replaced while it is read: then `is_valid` is false. */
static bool find_in_list(uint64_t code, struct heap_mapping *ret, bool *is_valid)
{
	const struct heap_mappings *mappings = connected.mappings;
	uint32_t version = __atomic_load_n(&mappings->version, __ATOMIC_ACQUIRE);
	uint32_t low = 0, high = mappings->n;
	bool is_found = false;

	*is_valid = false;
	if (version & 1 || high > HEAP_MAPPINGS_MAX ||
	    (int32_t)(mappings->answers - connection->required) < 0)
		return false;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (mappings->list[middle].end <= code)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < HEAP_MAPPINGS_MAX) {
		*ret = mappings->list[low];
		is_found = low < mappings->n && ret->start <= code && code < ret->end;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	*is_valid = __atomic_load_n(&mappings->version, __ATOMIC_RELAXED) == version;
	return is_found;
}

static bool is_listed(uint64_t code, struct heap_mapping *ret)
{
	bool is_valid;

	return find_in_list(code, ret, &is_valid) && is_valid;
}

/* Finds the mapping of a code address, after a request to the reader if the list lacks it. */
static bool find_mapping(uint64_t code, struct heap_mapping *ret)
{
	return is_listed(code, ret) || (connection_ask() && is_listed(code, ret));
}

static const struct unwind_rule *find_in_table(const struct heap_mapping *mapping, uint64_t code)
{
	const void *bytes = connected.tables + mapping->table;
	const struct unwind_table table = unwind_table_parts(bytes, mapping->table_size);

	return unwind_table_find(&table, code - mapping->start + mapping->offset);
}

/* Whether a table's rule needs only the stack and the frame pointer. */
static bool is_wide(const struct unwind_rule *rule)
{
	return (rule->cfa == UNWIND_CFA_SP || rule->cfa == UNWIND_CFA_FP ||
		rule->cfa == UNWIND_CFA_AT_SP || rule->cfa == UNWIND_CFA_AT_FP) &&
	       rule->return_address == UNWIND_VALUE_AT_CFA &&
	       (rule->fp == UNWIND_VALUE_SAME || rule->fp == UNWIND_VALUE_UNDEFINED ||
		rule->fp == UNWIND_VALUE_AT_CFA || rule->fp == UNWIND_VALUE_AT_FP);
}

/* Packs a rule into a cache entry. */
static void pack(const struct unwind_rule *rule, struct walk_rule *ret)
{
	bool is_plain = (rule->cfa == UNWIND_CFA_SP || rule->cfa == UNWIND_CFA_FP) &&
			rule->return_address == UNWIND_VALUE_AT_CFA &&
			rule->return_address_offset == -WORD && rule->fp != UNWIND_VALUE_AT_FP &&
			rule->fp_offset == (int16_t)rule->fp_offset;

	ret->kind = KIND_RAW;
	if (rule->flags & UNWIND_FLAG_SIGNAL)
		return;
	if (rule->return_address == UNWIND_VALUE_UNDEFINED) {
		ret->kind = KIND_END;
		return;
	}
	if (!is_wide(rule))
		return;
	if (!is_plain) {
		ret->kind = KIND_WIDE;
		return;
	}
	ret->kind = rule->cfa == UNWIND_CFA_SP ? KIND_BY_SP : KIND_BY_FP;
	ret->cfa_offset = rule->cfa_offset;
	ret->fp_offset = rule->fp_offset;
	ret->fp = rule->fp == UNWIND_VALUE_AT_CFA ? FP_AT_CFA
		  : rule->fp == UNWIND_VALUE_SAME ? FP_SAME
						  : FP_UNDEFINED;
}

static void look_up_rule(uint64_t pc, struct walk_rule *ret)
{
	/* Only one request is made per pc; a new list is searched again. */
	bool was_asked = ret->pc == pc && ret->kind == KIND_UNKNOWN;
	const struct unwind_rule *rule;
	struct heap_mapping mapping;
	bool is_known = was_asked ? is_listed(pc - 1, &mapping) : find_mapping(pc - 1, &mapping);

	*ret = (struct walk_rule){
		.pc = pc,
		.kind = KIND_UNKNOWN,
		.cfa_offset = connected.mappings->version,
	};
	if (!is_known)
		return;
	ret->kind = KIND_RAW;
	switch (mapping.kind) {
	case HEAP_MAPPING_TABLE:
		rule = find_in_table(&mapping, pc - 1);
		if (rule)
			pack(rule, ret);
		else
			ret->kind = KIND_BARE;
		return;
	case HEAP_MAPPING_BARE:
		ret->kind = KIND_BARE;
		return;
	case HEAP_MAPPING_ANONYMOUS:
		ret->kind = KIND_ANONYMOUS;
		return;
	default:
		return;
	}
}

static inline struct walk_rule *find_rule(struct walker *walker, uint64_t pc)
{
	uint64_t hash = pc * 0x9e3779b97f4a7c15ULL;
	struct walk_rule *rule = &walker->rules[hash >> 40 & (WALK_RULES_CACHED - 1)];

	if (__builtin_expect(rule->pc != pc || rule->kind == KIND_NONE, 0) ||
	    (rule->kind == KIND_UNKNOWN &&
	     rule->cfa_offset != (int32_t)connected.mappings->version))
		look_up_rule(pc, rule);
	return rule;
}

/* Finishes a step: reads the caller of `link->frame`, and keeps where it was read. */
static bool step_to(struct walker *walker, struct walk_link *link, uint64_t cfa, uint64_t pc_at,
		    uint64_t fp_at, struct walk_frame *caller)
{
	caller->sp = cfa;
	link->pc_at = pc_at;
	link->fp_at = fp_at;
	return cfa > link->frame.sp && stack_view_word(&walker->stack, pc_at, &caller->pc) &&
	       caller->pc > 1 && (!fp_at || stack_view_word(&walker->stack, fp_at, &caller->fp));
}

/* Steps by the table's own rule, where the packed form does not suffice. */
static bool step_widely(struct walker *walker, struct walk_link *link, struct walk_frame *caller)
{
	const struct walk_frame *frame = &link->frame;
	struct heap_mapping mapping;
	const struct unwind_rule *rule;
	uint64_t cfa, fp_at = 0;

	if (!find_mapping(frame->pc - 1, &mapping) || mapping.kind != HEAP_MAPPING_TABLE)
		return false;
	rule = find_in_table(&mapping, frame->pc - 1);
	if (!rule || !is_wide(rule))
		return false;
	cfa = (rule->cfa == UNWIND_CFA_SP || rule->cfa == UNWIND_CFA_AT_SP ? frame->sp
									   : frame->fp) +
	      rule->cfa_offset;
	if (rule->cfa == UNWIND_CFA_AT_SP || rule->cfa == UNWIND_CFA_AT_FP) {
		link->cfa_at = cfa;
		if (!stack_view_word(&walker->stack, cfa, &link->cfa))
			return false;
		cfa = link->cfa + rule->cfa_addend;
	}
	if (rule->fp == UNWIND_VALUE_AT_CFA)
		fp_at = cfa + rule->fp_offset;
	else if (rule->fp == UNWIND_VALUE_AT_FP)
		fp_at = frame->fp + rule->fp_offset;
	caller->fp = rule->fp == UNWIND_VALUE_UNDEFINED ? 0 : frame->fp;
	/* A realigned frame may already have popped the frame pointer (see live-unwinder). */
	if (rule->fp == UNWIND_VALUE_AT_FP && fp_at - frame->sp >= cfa - frame->sp)
		return false;
	return step_to(walker, link, cfa, cfa + rule->return_address_offset, fp_at, caller);
}

static inline bool step(struct walker *walker, const struct walk_rule *rule, struct walk_link *link,
			struct walk_frame *caller)
{
	uint64_t cfa;

	link->cfa_at = 0;
	if (rule->kind == KIND_WIDE)
		return step_widely(walker, link, caller);
	cfa = (rule->kind == KIND_BY_SP ? link->frame.sp : link->frame.fp) + rule->cfa_offset;
	caller->fp = rule->fp == FP_UNDEFINED ? 0 : link->frame.fp;
	return step_to(walker, link, cfa, cfa - WORD,
		       rule->fp == FP_AT_CFA ? cfa + rule->fp_offset : 0, caller);
}

/*
 * Steps out of JIT-compiled code by the frame pointer, as live-unwinder does: as long as it
 * increases and leads to code.
 */
static bool step_by_frame_pointer(struct walker *walker, struct walk_link *link,
				  struct walk_frame *caller)
{
	uint64_t fp = link->frame.fp;

	link->cfa_at = 0;
	if (fp < link->frame.sp || fp % WORD ||
	    !step_to(walker, link, fp + FRAME_RECORD, fp + WORD, fp, caller))
		return false;
	return find_rule(walker, caller->pc)->kind != KIND_UNKNOWN;
}

static inline bool holds(struct walker *walker, uint64_t address, uint64_t value)
{
	uint64_t word;

	return stack_view_word(&walker->stack, address, &word) && word == value;
}

/* Whether a link's caller is unchanged. The outermost one has none: its pc alone ends the stack. */
static inline bool still_holds(struct walker *walker, const struct walk_link *link,
			       const struct walk_link *outer)
{
	return holds(walker, link->pc_at, outer->frame.pc) &&
	       (!link->fp_at || holds(walker, link->fp_at, outer->frame.fp)) &&
	       (!link->cfa_at || holds(walker, link->cfa_at, link->cfa));
}

/*
 * Link `i` is a frame of this stack. true: all its callers are unchanged. Otherwise link `n_links`
 * has a new caller, and the links inside it become fresh ones.
 */
static bool match(struct walker *walker, uint32_t i, uint32_t *n_fresh)
{
	uint32_t first = i;

	while (i > 0 && still_holds(walker, &walker->links[i], &walker->links[i - 1]))
		i--;
	if (i == 0) {
		walker->n_links = first + 1;
		return true;
	}
	/* The callers of these are unchanged; link `i` has another caller now. */
	for (uint32_t k = first; k > i; k--) {
		if (*n_fresh == WALK_DEPTH_MAX)
			break;
		walker->fresh[(*n_fresh)++] = walker->links[k];
	}
	walker->n_links = i;
	return false;
}

static inline uint64_t hash_frame(uint64_t hash, uint64_t pc)
{
	hash = (hash ^ pc) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Drops the outermost frames of a stack that is too deep, which is not reused. */
static void skip_outermost(struct walker *walker, uint32_t n)
{
	walker->n_links -= n;
	memmove(walker->links, walker->links + n, walker->n_links * sizeof(*walker->links));
	walker->is_volatile = true;
	walker->end = HEAP_END_FRAME_LIMIT;
}

/* Adds the fresh frames to what is left of the last stack. */
static enum walk_outcome finish(struct walker *walker, uint32_t n_fresh, uint32_t end)
{
	uint64_t hash;

	if (end)
		walker->end = end;
	if (walker->n_links + n_fresh > WALK_DEPTH_MAX)
		skip_outermost(walker, walker->n_links + n_fresh - WALK_DEPTH_MAX);
	hash = walker->n_links ? walker->links[walker->n_links - 1].hash
			       : hash_frame(connected.region->seed, walker->end);
	while (n_fresh > 0) {
		struct walk_link *link = &walker->links[walker->n_links++];

		*link = walker->fresh[--n_fresh];
		hash = link->hash = hash_frame(hash, link->frame.pc);
	}
	return WALK_DONE;
}

static enum walk_outcome give_up(struct walker *walker)
{
	walker->n_links = 0;
	return WALK_RAW;
}

/* Without unwind information a stack is complete only at the process's first stack pointer. */
static uint32_t end_of_bare(const struct walk_frame *frame)
{
	return &__libc_stack_end && frame->sp == (uint64_t)__libc_stack_end
		       ? HEAP_END_COMPLETE
		       : HEAP_END_NO_UNWIND_INFO;
}

enum walk_outcome walk(struct walker *walker, const struct stack_own *own, struct walk_frame frame)
{
	uint32_t n_fresh = 0;

	stack_view_begin(&walker->stack, own, frame.sp);
	if (walker->is_volatile)
		walker->n_links = 0;
	walker->is_volatile = false;
	while (n_fresh < WALK_DEPTH_MAX) {
		struct walk_link *link = &walker->fresh[n_fresh];
		const struct walk_rule *rule;
		bool goes_on;

		while (walker->n_links && walker->links[walker->n_links - 1].frame.sp < frame.sp)
			walker->n_links--;
		if (walker->n_links) {
			const struct walk_frame *last = &walker->links[walker->n_links - 1].frame;

			if (last->sp == frame.sp && last->pc == frame.pc && last->fp == frame.fp) {
				if (match(walker, walker->n_links - 1, &n_fresh))
					return finish(walker, n_fresh, 0);
				frame = walker->links[walker->n_links].frame;
				continue;
			}
		}
		link->frame = frame;
		rule = find_rule(walker, frame.pc);
		switch (rule->kind) {
		case KIND_BY_SP:
		case KIND_BY_FP:
		case KIND_WIDE:
			goes_on = step(walker, rule, link, &frame);
			break;
		case KIND_ANONYMOUS:
			if (!step_by_frame_pointer(walker, link, &frame)) {
				/* This end depends on memory that the links do not check. */
				walker->is_volatile = true;
				walker->n_links = 0;
				return finish(walker, n_fresh + 1, HEAP_END_NO_UNWIND_INFO);
			}
			goes_on = true;
			break;
		case KIND_END:
			walker->n_links = 0;
			return finish(walker, n_fresh + 1, HEAP_END_COMPLETE);
		case KIND_BARE:
			walker->n_links = 0;
			return finish(walker, n_fresh + 1, end_of_bare(&frame));
		default:
			return give_up(walker);
		}
		if (!goes_on)
			return give_up(walker);
		n_fresh++;
	}
	walker->n_links = 0;
	walker->is_volatile = true;
	return finish(walker, n_fresh, HEAP_END_FRAME_LIMIT);
}
