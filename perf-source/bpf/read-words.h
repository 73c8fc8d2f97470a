/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks a stack by compiled unwind tables, and keeps the words that it reads: addresses and values,
 * in the order in which live-unwinder's engine of tables reads them. The walk decides nothing:
 * live-unwinder walks again, over these words, and it alone says which frames there are. Where this
 * walk does not reach the outermost frame by rules that it knows, the stack is copied instead.
 */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "common/unwind/unwind-lookup.h"
#include "common/wire/wire.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/unwind-program.h"

enum {
	WORDS_FRAMES_MAX = 1024,
	WORDS_STEPS_MAX = 17, /* of a search: a page has 65,536 rows, at most */
	WORDS_WORD = 8,
	WORDS_REGISTERS = 17,	   /* by their DWARF numbers (x86-64 psABI, figure 3.36), */
	WORDS_REGISTERS_MASK = 31, /* with room up to a power of two */
	WORDS_FP = 6,
	WORDS_SP = 7,
	WORDS_PC = 16,
	WORDS_STUB = 16,   /* bytes of a stub of a PLT */
	WORDS_PIECE = 128, /* words that are read at once; a power of two, */
	WORDS_BEFORE = 64, /* and bytes of them before the one that is needed */
};

/* Nothing can be read there. */
#define WORDS_NOWHERE (1ULL << 63)

/* A rule as its three words in the table (struct unwind_rule). */
struct words_rule {
	uint64_t kinds;	      /* cfa, cfa_register, return_address, fp; flags */
	uint64_t cfa_offsets; /* cfa_offset, cfa_addend */
	uint64_t offsets;     /* return_address_offset, fp_offset */
};

/* `list` 0: none. Both are compared, as processes choose addresses. */
struct words_cached {
	uint64_t list, code;
	struct words_rule rule;
};

struct words_cache {
	struct words_cached rules[UNWIND_RULES_CACHED];
};

/* A walk: the frame that it has reached. In a map, as the verifier follows values on the stack. */
struct words_walk {
	uint64_t pc, sp, fp;
	uint64_t knows_fp;
	uint64_t is_sampled; /* the first frame: all of its registers are known */
	uint64_t is_exact;   /* the pc is of an instruction that ran, no return address */
	uint64_t is_done;
	uint64_t left;		       /* enum unwind_left, if it is not done */
	uint64_t used;		       /* bytes of words */
	uint64_t list, first, n;       /* of mappings */
	struct unwind_mapping mapping; /* the last one */
	struct unwind_image image;     /* its table */
	struct words_rule rule;
	uint64_t registers[WORDS_REGISTERS_MASK + 1];
	uint64_t piece[WORDS_PIECE]; /* of the stack, */
	uint64_t piece_from;	     /* and where it begins */
	uint64_t n_walked;	     /* of this CPU's samples so far */
};

/* The maps, which only a BPF program can name, and where words are put. */
struct stack_words {
	struct words_walk *walk;
	char *bytes;
	struct words_cache *cache;
	void *mappings, *images, *tables;
};

static __always_inline long words_leave(struct words_walk *walk, enum unwind_left why)
{
	walk->left = why;
	return 1;
}

static __always_inline bool words_is_in(const struct unwind_mapping *mapping, uint64_t code)
{
	return code >= mapping->start && code < mapping->end;
}

/* Finds the mapping that holds code, which is mostly that of the frame before. */
static __always_inline bool words_find_mapping(const struct stack_words *words, uint64_t code)
{
	struct words_walk *walk = words->walk;
	uint32_t low = walk->first, n = walk->n, key;
	const struct unwind_mapping *mapping;
	const struct unwind_image *image;

	if (words_is_in(&walk->mapping, code))
		return true;
	for (uint32_t i = 0; i < WORDS_STEPS_MAX && n > 1; i++) {
		uint32_t half = n / 2;

		key = low + half;
		mapping = bpf_map_lookup_elem(words->mappings, &key);
		if (!mapping)
			return false;
		low = mapping->start <= code ? key : low;
		n -= half;
	}
	mapping = bpf_map_lookup_elem(words->mappings, &low);
	if (!n || !mapping || !words_is_in(mapping, code))
		return false;
	walk->mapping = *mapping;
	key = mapping->image;
	image = bpf_map_lookup_elem(words->images, &key);
	walk->image = image ? *image : (struct unwind_image){ 0 };
	return true;
}

/* A word of a table; 0 behind its end. */
static __always_inline uint64_t words_of_table(void *table, uint64_t at)
{
	uint32_t key = at / WORDS_WORD;
	const uint64_t *word = bpf_map_lookup_elem(table, &key);

	return word ? *word : 0;
}

static __always_inline uint64_t words_part_of_table(void *table, uint64_t at, uint32_t size)
{
	uint64_t shift = at % WORDS_WORD * 8;

	return words_of_table(table, at) >> shift & ((1ULL << size * 8) - 1);
}

/* Looks a rule up, as unwind_table_find() does. False: there is none. */
static __always_inline bool words_search(const struct stack_words *words, uint64_t place)
{
	struct words_walk *walk = words->walk;
	const struct unwind_image *image = &walk->image;
	uint32_t key = walk->mapping.image;
	void *table = bpf_map_lookup_elem(words->tables, &key);
	uint64_t page = place / UNWIND_PAGE_SIZE - image->first_page,
		 low = place % UNWIND_PAGE_SIZE;
	uint64_t rules = sizeof(struct unwind_table_header);
	uint64_t pages = rules + image->n_rules * sizeof(struct unwind_rule);
	uint64_t lows = pages + ((uint64_t)image->n_pages + 1) * sizeof(uint32_t);
	uint64_t first, n, which;

	if (!table || page >= image->n_pages)
		return false;
	pages += page * sizeof(uint32_t);
	first = words_part_of_table(table, pages, sizeof(uint32_t));
	n = words_part_of_table(table, pages + sizeof(uint32_t), sizeof(uint32_t)) - first;
	if (!n)
		return false;
	for (uint32_t i = 0; i < WORDS_STEPS_MAX && n > 1; i++) {
		uint64_t half = n / 2, at = lows + (first + half) * sizeof(uint16_t);

		first += words_part_of_table(table, at, sizeof(uint16_t)) <= low ? half : 0;
		n -= half;
	}
	which = words_part_of_table(table, lows + (image->n_rows + first) * sizeof(uint16_t),
				    sizeof(uint16_t));
	if (which >= image->n_rules)
		return false;
	rules += which * sizeof(struct unwind_rule);
	walk->rule = (struct words_rule){
		words_of_table(table, rules),
		words_of_table(table, rules + WORDS_WORD),
		words_of_table(table, rules + 2 * WORDS_WORD),
	};
	return true;
}

static __always_inline struct words_cached *words_cached_at(const struct stack_words *words,
							    uint64_t code)
{
	uint64_t hash = (code ^ words->walk->list << 47) * 0x9e3779b97f4a7c15ULL;

	return &words->cache->rules[hash >> 40 & (UNWIND_RULES_CACHED - 1)];
}

/* Finds the rule of the current frame. 0, or 1: it leaves the sample. */
static __always_inline long words_find_rule(const struct stack_words *words)
{
	struct words_walk *walk = words->walk;
	uint64_t code = walk->pc - !walk->is_exact;
	struct words_cached *cached = words_cached_at(words, code);

	if (cached->code == code && cached->list == walk->list) {
		walk->rule = cached->rule;
		return 0;
	}
	if (!words_find_mapping(words, code))
		return words_leave(walk, UNWIND_LEFT_MAPPING);
	if (!walk->image.is_ready) {
		uint32_t key = walk->mapping.image;
		struct unwind_image *image = bpf_map_lookup_elem(words->images, &key);

		if (image)
			image->is_wanted = 1;
		return words_leave(walk, UNWIND_LEFT_TABLE);
	}
	if (!words_search(words, code - walk->mapping.start + walk->mapping.offset))
		return words_leave(walk, UNWIND_LEFT_RULE);
	*cached = (struct words_cached){ walk->list, code, walk->rule };
	return 0;
}

/* Beyond the room of a part words are left out: the walk ends before (WORDS_FRAMES_MAX). */
static __always_inline void words_keep(const struct stack_words *words, uint64_t address,
				       uint64_t value)
{
	struct words_walk *walk = words->walk;
	uint64_t used = walk->used;
	struct wire_stack_word *word;

	barrier_var(used);
	if (used > SAMPLE_PART_MAX - sizeof(*word))
		return;
	word = (void *)(words->bytes + used);
	word->address = address;
	word->value = value;
	walk->used = used + sizeof(*word);
}

/*
 * A word of the stack. Most are near the one before: reading a piece takes little longer than
 * reading a word. False: it is not in memory.
 */
static __always_inline bool words_load(struct words_walk *walk, uint64_t address, uint64_t *ret)
{
	uint64_t at = address - walk->piece_from;

	if (at % WORDS_WORD)
		return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)address);
	if (at >= sizeof(walk->piece)) {
		walk->piece_from = address - WORDS_BEFORE;
		at = WORDS_BEFORE;
		if (bpf_probe_read_user(walk->piece, sizeof(walk->piece),
					(const void *)walk->piece_from)) {
			walk->piece_from = WORDS_NOWHERE; /* a part of it is not in memory */
			return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)address);
		}
	}
	*ret = walk->piece[at / WORDS_WORD & (WORDS_PIECE - 1)];
	return true;
}

/* Reads a word of the stack and keeps it. False: it is not in memory. */
static __always_inline bool words_read(const struct stack_words *words, uint64_t address,
				       uint64_t *ret)
{
	if (!words_load(words->walk, address, ret))
		return false;
	words_keep(words, address, *ret);
	return true;
}

/* A register of the sampled frame. */
static __always_inline bool words_register(const struct words_walk *walk, uint64_t number,
					   uint64_t *ret)
{
	if (!walk->is_sampled || number >= WORDS_REGISTERS)
		return false;
	barrier_var(number); /* the verifier must see the mask */
	*ret = walk->registers[number & WORDS_REGISTERS_MASK];
	return true;
}

/* The canonical frame address. 0, or 1: it leaves the sample. */
static __always_inline long words_find_cfa(const struct stack_words *words, uint64_t *ret)
{
	struct words_walk *walk = words->walk;
	uint32_t kind = (uint8_t)walk->rule.kinds, number = (uint8_t)(walk->rule.kinds >> 8);
	int64_t offset = (int32_t)walk->rule.cfa_offsets;
	int64_t addend = (int32_t)(walk->rule.cfa_offsets >> 32);
	bool is_at_fp = kind == UNWIND_CFA_AT_FP;

	switch (kind) {
	case UNWIND_CFA_SP:
		*ret = walk->sp + offset;
		return 0;
	case UNWIND_CFA_FP:
		*ret = walk->fp + offset;
		return walk->knows_fp ? 0 : words_leave(walk, UNWIND_LEFT_WORD);
	case UNWIND_CFA_REGISTER:
		if (!words_register(walk, number, ret))
			return words_leave(walk, UNWIND_LEFT_RULE);
		*ret += offset;
		return 0;
	case UNWIND_CFA_AT_SP:
	case UNWIND_CFA_AT_FP:
		if ((is_at_fp && !walk->knows_fp) ||
		    !words_read(words, (is_at_fp ? walk->fp : walk->sp) + offset, ret))
			return words_leave(walk, UNWIND_LEFT_WORD);
		*ret += addend;
		return 0;
	case UNWIND_CFA_PLT:
		*ret = walk->sp + offset + (walk->pc % WORDS_STUB >= number ? WORDS_WORD : 0);
		return 0;
	default:
		return words_leave(walk, UNWIND_LEFT_RULE);
	}
}

/* Where a value is. False: not at an address. */
static __always_inline bool words_address(const struct words_walk *walk, uint32_t kind,
					  int64_t offset, uint64_t cfa, uint64_t *ret)
{
	*ret = (kind == UNWIND_VALUE_AT_CFA  ? cfa
		: kind == UNWIND_VALUE_AT_SP ? walk->sp
					     : walk->fp) +
	       offset;
	return kind == UNWIND_VALUE_AT_CFA || kind == UNWIND_VALUE_AT_SP ||
	       kind == UNWIND_VALUE_AT_FP;
}

static __always_inline long words_find_return(const struct stack_words *words, uint64_t cfa,
					      uint64_t *ret)
{
	struct words_walk *walk = words->walk;
	uint32_t kind = (uint8_t)(walk->rule.kinds >> 16);
	int32_t offset = walk->rule.offsets;
	uint64_t address;

	if (kind == UNWIND_VALUE_REGISTER)
		return words_register(walk, offset, ret) ? 0 : words_leave(walk, UNWIND_LEFT_RULE);
	if (!words_address(walk, kind, offset, cfa, &address))
		return words_leave(walk, UNWIND_LEFT_RULE);
	if ((kind == UNWIND_VALUE_AT_FP && !walk->knows_fp) || !words_read(words, address, ret))
		return words_leave(walk, UNWIND_LEFT_WORD);
	return 0;
}

/* The caller's frame pointer. One that is not in memory is missed only where it is needed. */
static __always_inline long words_find_fp(const struct stack_words *words, uint64_t cfa)
{
	struct words_walk *walk = words->walk;
	uint32_t kind = (uint8_t)(walk->rule.kinds >> 24);
	int64_t offset = (int32_t)(walk->rule.offsets >> 32);
	uint64_t address;

	if (kind == UNWIND_VALUE_SAME)
		return 0;
	if (kind == UNWIND_VALUE_REGISTER)
		return words_register(walk, offset, &walk->fp)
			       ? 0
			       : words_leave(walk, UNWIND_LEFT_RULE);
	if (kind == UNWIND_VALUE_UNDEFINED) {
		walk->knows_fp = 0;
		return 0;
	}
	if (!words_address(walk, kind, offset, cfa, &address))
		return words_leave(walk, UNWIND_LEFT_RULE);
	if (kind == UNWIND_VALUE_AT_FP && cfa > walk->sp && address - walk->sp >= cfa - walk->sp)
		walk->knows_fp = 0; /* it may have been popped, as live-unwinder finds, too */
	if (kind == UNWIND_VALUE_AT_FP && !walk->knows_fp)
		return 0;
	walk->knows_fp = words_read(words, address, &walk->fp);
	return 0;
}

/* Steps to the caller. 1: the walk ends. */
static __always_inline long words_step(const struct stack_words *words)
{
	struct words_walk *walk = words->walk;
	uint64_t cfa, pc;
	uint32_t flags;

	if (words_find_rule(words))
		return 1;
	flags = walk->rule.kinds >> 32;
	if ((uint8_t)(walk->rule.kinds >> 16) == UNWIND_VALUE_UNDEFINED) {
		walk->is_done = 1;
		return 1;
	}
	if (words_find_cfa(words, &cfa) || words_find_return(words, cfa, &pc) ||
	    words_find_fp(words, cfa))
		return 1;
	if (pc == walk->pc && cfa <= walk->sp) /* no progress */
		return words_leave(walk, UNWIND_LEFT_RULE);
	walk->pc = pc;
	walk->sp = cfa;
	walk->is_sampled = 0;
	walk->is_exact = flags & UNWIND_FLAG_SIGNAL;
	return 0;
}
