/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads objects of walk programs (walk-program.h) in the moment of a sample, and emits those that
 * are new. The kernel verifies functions that are not static by themselves, once; in place, their
 * branches multiply with those around them, and are too many.
 */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "common/base/hash.h"
#include "perf-source/bpf/read-budget.h"
#include "perf-source/bpf/walk-work.h"

static __always_inline uint64_t walk_read_pointer(uint64_t address)
{
	uint64_t pointer = 0;

	bpf_probe_read_user(&pointer, sizeof(pointer), (const void *)address);
	return pointer;
}

/* The address of what an object says where it is; 0: it does not. */
static __always_inline uint64_t walk_find_site(const struct walk_site *site, uint64_t object)
{
	uint64_t at = object;
	uint32_t further = 0, offset = 0;

	if (site->pointer != WALK_NOT_THERE)
		at = walk_read_pointer(object + site->pointer);
	if (site->further != WALK_NOT_THERE)
		bpf_probe_read_user(&further, sizeof(further),
				    (const void *)(object + site->further));
	if (site->offset != WALK_NOT_THERE)
		bpf_probe_read_user(&offset, site->offset_size == 2 ? 2 : 4,
				    (const void *)(object + site->offset));
	return at ? at + further + offset : 0;
}

/* Reads up to `size` bytes, but not beyond a page that is not in memory. Returns their number. */
static __always_inline uint64_t walk_read_text(char *to, uint64_t address, uint64_t size)
{
	uint64_t in_page = WALK_PAGE - (address & (WALK_PAGE - 1));

	barrier_var(size);
	if (size > WALK_TEXT_MAX || !address)
		return 0;
	if (!bpf_probe_read_user(to, size, (const void *)address))
		return size;
	if (in_page >= size)
		return 0;
	barrier_var(in_page);
	if (in_page > WALK_TEXT_MAX || bpf_probe_read_user(to, in_page, (const void *)address))
		return 0;
	return in_page;
}

static __always_inline uint64_t walk_mix(uint64_t hash, uint64_t word)
{
	hash = hash_word(hash, word);
	return hash ^ hash >> 29;
}

/* All bits set, or none, without a branch: the verifier follows each branch of a loop. */
static __always_inline uint64_t walk_mask(uint64_t is_set)
{
	return -(is_set & 1);
}

/* 1 if a number is 0, else 0. */
static __always_inline uint64_t walk_is_zero(uint64_t number)
{
	return ~(number | -number) >> 63;
}

/* 1 if an address is one of those from one on and below another, else 0. All have 63 bits. */
static __always_inline uint64_t walk_is_within(uint64_t address, uint64_t from, uint64_t to)
{
	return (~(address - from) & (address - to)) >> 63;
}

/* What has a number; 0: nothing has. */
static __always_inline uint64_t walk_numbered(const struct walk_numbers *numbers, uint64_t word)
{
	uint64_t number = word >> (numbers->shift & 63),
		 within = number & ((1ULL << (numbers->bits & 31)) - 1),
		 table = walk_read_pointer(walk_read_pointer(numbers->tables) +
					   (number >> (numbers->bits & 31)) * sizeof(word));

	return table ? walk_read_pointer(table + within * sizeof(word)) : 0;
}

/* How many bytes a head has. */
static __always_inline uint64_t walk_head_size(const struct walk_text *text,
					       const struct walk_memory *memory)
{
	uint64_t is_plain = memory->head[text->unit % WALK_FIELDS_MAX] >> (text->plain & 63) & 1;

	return text->skip + (text->unit && !is_plain ? text->more : 0);
}

/* Where a text is, by the first word of its head. */
enum walk_text_place { WALK_TEXT_INSIDE, WALK_TEXT_OUTSIDE, WALK_TEXT_NOWHERE };

static __always_inline enum walk_text_place walk_text_place(const struct walk_text *text,
							    uint64_t first)
{
	uint64_t kind = first & text->kinds;

	if (kind == text->inside)
		return WALK_TEXT_INSIDE;
	return kind == text->outside ? WALK_TEXT_OUTSIDE : WALK_TEXT_NOWHERE;
}

/* The length of a text whose head has it in two bytes. */
static __always_inline uint64_t walk_short_length(const struct walk_text *text,
						  const uint64_t *head)
{
	uint64_t at = text->length_at - 1;

	barrier_var(at);
	return at <= WALK_HEAD_MAX - 2 ? *(const uint16_t *)((const char *)head + at) : 0;
}

/* How many bytes of text a head has behind it, or elsewhere. */
static __always_inline uint64_t walk_text_size(const struct walk_text *text,
					       const struct walk_memory *memory,
					       enum walk_text_place place)
{
	uint64_t at = text->length, length, unit = 1;

	if (text->kinds && place == WALK_TEXT_INSIDE)
		at = text->inside_length;
	length = memory->head[at % WALK_FIELDS_MAX];
	if (text->length_at)
		length = walk_short_length(text, memory->head);
	if (text->unit)
		unit = memory->head[text->unit % WALK_FIELDS_MAX] >> (text->unit_shift & 63) & 7;
	if (place == WALK_TEXT_NOWHERE || (text->kinds && !at))
		return 0;
	return length < UINT32_MAX ? length * unit : UINT32_MAX;
}

/* Mixes in the `size` bytes in `words`, of which it clears the word in which they end. */
static __always_inline uint64_t walk_mix_words(uint64_t hash, uint64_t *words, uint64_t size)
{
	words[size / 8] &= (1ULL << (size % 8 * 8)) - 1;
	for (uint32_t i = 0; i < WALK_TEXT_WORDS && i * 8 < size; i++)
		hash = walk_mix(hash, words[i]);
	return hash;
}

/* Mixes in `size` bytes of a text, up to all words of `memory->text`. */
static __always_inline uint64_t walk_mix_bytes(uint64_t hash, struct walk_memory *memory,
					       uint64_t address, uint64_t size)
{
	barrier_var(size);
	if (size > WALK_TEXT_WORDS * 8 ||
	    bpf_probe_read_user(memory->text, size, (const void *)address))
		return hash; /* absent: then the object's own words must do */
	return walk_mix_words(hash, memory->text, size);
}

/*
 * Reads a head, and what fits behind it. Returns how many bytes in all; 0: it is absent. Reading
 * from no address would cost a fault, as much as five reads.
 */
static __always_inline uint64_t walk_read_head(struct walk_memory *memory, uint64_t address)
{
	if (!address) {
		for (uint32_t i = 0; i < WALK_HEAD_WORDS; i++)
			memory->head[i] = 0;
		return 0;
	}
	if (!bpf_probe_read_user(memory->head, sizeof(memory->head) - 8, (const void *)address))
		return sizeof(memory->head) - 8;
	if (!bpf_probe_read_user(memory->head, WALK_HEAD_MAX, (const void *)address))
		return WALK_HEAD_MAX;
	return 0;
}

/* What a text's pointer is further on for, which is counted in the text that has it. */
static __always_inline uint64_t walk_text_offset(const struct walk_text *text, uint64_t n)
{
	if (n <= text->count_max)
		return text->pointer + n * text->count_scale;
	return text->beyond_scale ? text->pointer + text->beyond + n * text->beyond_scale
				  : WALK_NOWHERE;
}

/* Whether what has a text's address is of the kind that has it. */
static __always_inline bool walk_is_of_kind(const struct walk_text *text,
					    const struct walk_memory *memory, uint64_t base,
					    uint32_t near)
{
	uint64_t first = memory->head[0];

	if (!text->of_kind)
		return true;
	if (near != text->of)
		first = walk_read_pointer(base);
	return (first & text->kinds) == text->of_kind;
}

/* The word of a text that has an address, as many words further as another one says. */
static __always_inline uint64_t walk_indexed(const struct walk_text *text,
					     const struct walk_memory *memory, uint64_t base)
{
	uint64_t of = text->index_of, from;
	uint16_t n;

	barrier_var(of);
	from = of > WALK_TEXTS_MAX ? 0 : memory->at[of];
	if (!from || bpf_probe_read_user(&n, sizeof(n), (const void *)(from + text->index_at)) ||
	    !n)
		return 0;
	return walk_read_pointer(base + text->pointer + n * sizeof(uint64_t));
}

/* The address behind a table to which a text leads; 0: it is not there. */
static __always_inline uint64_t walk_behind_table(const struct walk_text *text, uint64_t base,
						  uint64_t mask)
{
	uint64_t table = walk_read_pointer(base + text->pointer) & mask,
		 owner = walk_read_pointer(base + text->table_owner) & mask;
	uint32_t last = 0;

	if (!table || !owner ||
	    bpf_probe_read_user(&last, sizeof(last), (const void *)(owner + text->table_last)))
		return 0;
	return table + (last + 1ULL) * text->table_entry;
}

/*
 * The address of a text of the object in `memory`; 0: it has none. The head of text `near` has been
 * read, so what it leads to need not be read once more; 0: none.
 */
__noinline uint64_t walk_text_address(const struct walk_text *text, uint64_t mask,
				      struct walk_memory *memory, uint32_t near)
{
	uint64_t at, of, base, n = 0;

	if (!text || !memory)
		return 0;
	at = text->pointer;
	of = text->of;
	barrier_var(at);
	barrier_var(of);
	if (of == WALK_OF_FOUND)
		return memory->found;
	if (!of) {
		if (at > WALK_OBJECT_MAX - 8)
			return 0;
		at = *(const uint64_t *)(memory->bytes + at) & mask;
		return text->numbers.tables ? walk_numbered(&text->numbers, at) : at;
	}
	base = of > WALK_TEXTS_MAX ? 0 : memory->at[of];
	if (!base || !walk_is_of_kind(text, memory, base, near))
		return 0;
	if (text->index_of)
		return walk_indexed(text, memory, base) & mask;
	if (text->table_entry)
		return walk_behind_table(text, base, mask);
	if (text->count_scale && near == of)
		n = memory->head[text->count % WALK_FIELDS_MAX];
	else if (text->count_scale &&
		 bpf_probe_read_user(&n, sizeof(n), (const void *)(base + text->count * 8)))
		return 0;
	at = walk_text_offset(text, n >> 32);
	barrier_var(at);
	if (text->is_here)
		return at == WALK_NOWHERE ? 0 : base + at;
	if (near == of && at <= WALK_HEAD_MAX - 8)
		return *(const uint64_t *)((const char *)memory->head + at) & mask;
	return at == WALK_NOWHERE ? 0 : walk_read_pointer(base + at) & mask;
}

/* Whether an object's identity has something of a text. */
static __always_inline bool walk_text_counts(const struct walk_text *text)
{
	return text->size && (text->words || text->length || text->hash || text->length_at);
}

/* Mixes in what a pointer of an object leads to: words of its head, and the text behind it. */
__noinline uint64_t walk_mix_text(uint64_t hash, const struct walk_text *text,
				  struct walk_memory *memory, uint64_t address)
{
	uint64_t known, size, n_read, skip, most = WALK_TEXT_WORDS * 8, end = WALK_END_WORDS * 8;
	enum walk_text_place place;

	if (!text || !memory || !walk_text_counts(text))
		return hash;
	n_read = walk_read_head(memory, address);
	skip = walk_head_size(text, memory);
	barrier_var(skip);
	if (!n_read || skip > WALK_HEAD_MAX + WALK_MORE_MAX)
		return hash;
	for (uint32_t i = 0; i < WALK_HEAD_WORDS && text->words >> i; i++)
		hash = walk_mix(hash, memory->head[i] & walk_mask(text->words >> i));
	known = text->hash ? memory->head[text->hash % WALK_FIELDS_MAX] : 0;
	if ((!text->length && !text->length_at) || (known && known != UINT64_MAX))
		return walk_mix(hash, known);
	place = walk_text_place(text, memory->head[0]);
	size = walk_text_size(text, memory, place);
	barrier_var(size);
	if (place != WALK_TEXT_OUTSIDE && skip % 8 == 0 && size <= WALK_NEAR_WORDS * 8 &&
	    skip + size <= n_read)
		return walk_mix_words(hash, memory->head + skip / 8, size);
	address += skip;
	if (place == WALK_TEXT_OUTSIDE)
		address = memory->head[text->outside_at % WALK_FIELDS_MAX];
	hash = walk_mix_bytes(hash, memory, address, size < most ? size : most);
	if (size > most)
		hash = walk_mix_bytes(hash, memory, address + size - end, end);
	return hash;
}

static __always_inline bool walk_has_type(const struct walk_object *object, uint64_t word)
{
	if (object->type_mask)
		word &= object->type_mask;
	return word == object->type || (object->other_type && word == object->other_type);
}

/* The identity of an object by its own words and those of its texts; 0: it cannot be read. */
__noinline uint64_t walk_identity(const struct walk_object *object, struct walk_memory *memory,
				  uint64_t address)
{
	const uint64_t *words;
	uint64_t hash = 1, size, type_at;

	if (!object || !memory)
		return 0;
	size = object->size;
	type_at = object->type_at;
	barrier_var(size);
	barrier_var(type_at);
	memory->at[0] = address;
	memory->last = 0;
	if (size > WALK_OBJECT_MAX || type_at > WALK_OBJECT_MAX - 8 ||
	    bpf_probe_read_user(memory->bytes, size, (const void *)address) ||
	    (object->type && !walk_has_type(object, *(const uint64_t *)(memory->bytes + type_at))))
		return 0;
	words = (const void *)memory->bytes;
	for (uint32_t i = 0; i < WALK_OBJECT_WORDS && object->words >> i; i++)
		hash = walk_mix(hash, words[i] & walk_mask(object->words >> i));
	if (memory->found)
		hash = walk_mix(hash, memory->found);
	for (uint32_t i = 0; i < WALK_TEXTS_MAX && object->texts[i].size; i++) {
		const struct walk_text *text = &object->texts[i];
		uint64_t at = 0;

		if (walk_text_counts(text))
			at = walk_text_address(text, object->pointer_mask, memory, memory->last);
		if (at)
			memory->last = i + 1;
		memory->at[i + 1] = at;
		hash = walk_mix_text(hash, text, memory, at);
	}
	return hash | 1;
}

/* The identity of an object by a part that has a number of its own; 0: it has none. */
__noinline uint64_t walk_brief_identity(const struct walk_object *object,
					struct walk_memory *memory, uint64_t address)
{
	uint64_t size, at, hash = 2;

	if (!object || !memory)
		return 0;
	size = object->part_size;
	at = object->unique;
	barrier_var(size);
	barrier_var(at);
	if (!size || size > WALK_HEAD_MAX || at > WALK_HEAD_MAX - sizeof(uint32_t) ||
	    bpf_probe_read_user(memory->head, size, (const void *)(address + object->part)) ||
	    !*(const uint32_t *)((const char *)memory->head + at))
		return 0;
	for (uint32_t i = 0; i < WALK_HEAD_WORDS && i * 8 < size; i++)
		hash = walk_mix(hash, memory->head[i]);
	return hash | 1;
}

/* How many bytes are read of a text. */
static __always_inline uint64_t walk_size_of(const struct walk_text *text,
					     const struct walk_memory *memory)
{
	uint64_t size = text->size, at = text->sized_by, n;

	barrier_var(at);
	if (!at || at > WALK_OBJECT_MAX - sizeof(uint32_t))
		return size;
	n = *(const uint32_t *)(memory->bytes + at);
	n = text->size_base + (n * text->size_scale >> 6);
	return n < size ? n : size;
}

/*
 * Puts a text that is elsewhere behind its head, of which `n` bytes in all have been read, and
 * leaves out what is behind the text. Returns how many bytes both have.
 */
static __always_inline uint64_t walk_read_outside(const struct walk_text *text, char *to,
						  uint64_t size, uint64_t n)
{
	uint64_t at = text->outside_at % WALK_FIELDS_MAX, skip = text->skip,
		 length_at = text->length;
	const uint64_t *head = (const void *)to;
	enum walk_text_place place;
	uint64_t length;

	if (!text->kinds || skip > WALK_HEAD_MAX || size < skip)
		return n;
	if (n < WALK_FIELDS_MAX * 8) /* not all of its head was in memory */
		return 0;
	place = walk_text_place(text, head[0]);
	if (place == WALK_TEXT_INSIDE)
		length_at = text->inside_length;
	length = place == WALK_TEXT_NOWHERE || !length_at ? 0 : head[length_at % WALK_FIELDS_MAX];
	length = length < size - skip ? length : size - skip;
	if (place == WALK_TEXT_OUTSIDE)
		return skip + walk_read_text(to + skip, head[at], length);
	return n < skip + length ? n : skip + length;
}

/*
 * Reads a text from an address, and puts it, with its size in front, behind the `used` bytes of an
 * object. Returns how many bytes it has; UINT64_MAX: it has no room, or there is no such text.
 */
__noinline uint64_t walk_put_text(const struct walk_text *text, struct walk_memory *memory,
				  uint64_t used, uint64_t address)
{
	uint64_t size, n;

	if (!text || !memory)
		return UINT64_MAX;
	size = walk_size_of(text, memory);
	barrier_var(used);
	if (used > WALK_MEMORY_MAX - 8 || !size || used + 8 + size > WALK_MEMORY_MAX)
		return UINT64_MAX;
	n = walk_read_text(memory->bytes + used + 8, address, size);
	n = walk_read_outside(text, memory->bytes + used + 8, size, n);
	*(uint64_t *)(memory->bytes + used) = n;
	return n;
}

/* How long a string is; 0: it is not in memory. */
static __always_inline uint32_t walk_string_length(const struct walk_source *source,
						   uint64_t string)
{
	uint32_t length = 0;

	bpf_probe_read_user(&length, sizeof(length), (const void *)(string + source->length));
	return length;
}

/*
 * The identity of what has the text of objects: by its number, and how long that and its name are.
 * The strings themselves may be moved.
 */
__noinline uint64_t walk_source_identity(const struct walk_source *source, uint64_t owner)
{
	uint64_t hash = 3;

	if (!source)
		return 0;
	hash = walk_mix(hash, walk_read_pointer(owner + source->number));
	hash = walk_mix(hash, walk_string_length(source, walk_read_pointer(owner + source->name) &
								 source->pointer_mask));
	hash = walk_mix(hash, walk_string_length(source, walk_read_pointer(owner + source->string) &
								 source->pointer_mask));
	return hash | 1;
}

/*
 * Puts the identity of what has an object's text behind the `used` bytes of the object. Returns the
 * bytes of both.
 */
static __always_inline uint64_t walk_put_source(const struct walk_source *source,
						struct walk_memory *memory, uint64_t used)
{
	uint64_t of = source->of;

	barrier_var(of);
	barrier_var(used);
	memory->owner = !of || of > WALK_TEXTS_MAX ? 0 : memory->at[of];
	if (!memory->owner || used > WALK_MEMORY_MAX - 2 * sizeof(uint64_t))
		return used;
	memory->owner_identity = walk_source_identity(source, memory->owner);
	*(uint64_t *)(memory->bytes + used) = sizeof(memory->owner_identity);
	*(uint64_t *)(memory->bytes + used + sizeof(uint64_t)) = memory->owner_identity;
	return used + 2 * sizeof(uint64_t);
}

/* Reads an object, and its texts behind it. Returns the bytes of all; 0: it cannot be read. */
__noinline uint64_t walk_read_all(const struct walk_object *object, struct walk_memory *memory,
				  uint64_t address)
{
	uint64_t used;

	if (!object || !memory)
		return 0;
	used = object->size;
	memory->at[0] = address;
	barrier_var(used);
	if (used > WALK_OBJECT_MAX ||
	    bpf_probe_read_user(memory->bytes, used, (const void *)address))
		return 0;
	for (uint32_t i = 0; i < WALK_TEXTS_MAX; i++) {
		const struct walk_text *text = &object->texts[i];
		uint64_t at, n;

		if (!text->size)
			break;
		at = walk_text_address(text, object->pointer_mask, memory, 0);
		n = walk_put_text(text, memory, used, at);
		if (n > WALK_TEXT_MAX)
			break;
		memory->at[i + 1] = at;
		used += 8 + ((n + 7) & ~7ULL);
	}
	return walk_put_source(&object->source, memory, used);
}

/*
 * Of an object by its process and address, and its identity: whether it is known to be emitted, and
 * that it is now, in a free place or in the place of any other one (walk-callbacks.h, which has the
 * map). The kernel verifies each once: in place, their branches multiply with those around them.
 */
uint64_t walk_is_seen(uint64_t place, uint64_t item);
uint64_t walk_see(uint64_t place, uint64_t item);

/* Emits an object with its texts. 0 or -errno: -ENOSPC: it is lost. */
static __always_inline long walk_emit(struct walk *walk, struct walk_memory *memory, void *parts,
				      uint64_t address, uint64_t identity, uint64_t size)
{
	struct walk_state *state = &walk->work->state;
	long r;

	memory->identity = identity;
	memory->part.kind = SAMPLE_PART_MEMORY;
	memory->part.address = address;
	memory->part.end = 0;
	memory->part.sp = walk->work->memory.part.sp;
	memory->part.size = sizeof(memory->identity) + size;
	state->n_new++;
	/* Linux 6.1 does not know what was compared once it has been on the stack. */
	barrier_var(size);
	if (size > WALK_MEMORY_MAX)
		return -E2BIG;
	r = bpf_perf_event_output(walk->context, parts, BPF_F_CURRENT_CPU, &memory->part,
				  sizeof(memory->part) + sizeof(memory->identity) + size);
	if (r == 0)
		state->n_emitted += read_record_size(memory->part.size);
	return r;
}

/* Whether another object may be emitted. */
static __always_inline bool walk_has_room(const struct walk_state *state)
{
	return state->n_new < WALK_NEW_MAX &&
	       state->n_emitted + read_record_size(sizeof(uint64_t) + WALK_MEMORY_MAX) <=
		       state->room;
}

/* Where an object is among those that are known to be emitted, by its process and address. */
static __always_inline uint64_t walk_place(const struct walk *walk, uint64_t address)
{
	return walk_mix(walk_mix(walk->program->incarnation, walk->work->registers.pid), address);
}

static __always_inline bool walk_is_emitted(const struct walk *walk, uint64_t address,
					    uint64_t identity)
{
	uint64_t place = walk_place(walk, address);

	return walk_is_seen(place, walk_mix(place, identity) | 1);
}

static __always_inline void walk_note_emitted(const struct walk *walk, uint64_t address,
					      uint64_t identity)
{
	uint64_t place = walk_place(walk, address);

	walk_see(place, walk_mix(place, identity) | 1);
}

/* What became of an object that was new. */
static __always_inline void walk_note(const struct walk *walk, uint64_t address, uint64_t identity,
				      long r)
{
	struct walk_state *state = &walk->work->state;

	if (r == 0)
		walk_note_emitted(walk, address, identity);
	state->n_left += r != 0;
	state->is_lost |= r == -ENOSPC;
}

static __always_inline uint64_t walk_find_identity(const struct walk_object *object,
						   struct walk_memory *memory, uint64_t address)
{
	uint64_t identity = walk_brief_identity(object, memory, address);

	return identity ? identity : walk_identity(object, memory, address);
}

/*
 * Notes that the text of the object in `memory` is to be emitted, if it has one. False: another one
 * of the thread has its place. One of another thread, which may have ended, is forgotten until
 * there is another object of it.
 */
__noinline uint64_t walk_await(struct walk_program *program, const struct walk_memory *memory)
{
	uint64_t thread = (uint32_t)bpf_get_current_pid_tgid(), identity;
	struct walk_awaited *awaited;

	if (!program || !memory || !memory->owner)
		return true;
	identity = memory->owner_identity;
	awaited = &program->awaited[identity >> 1 & (WALK_AWAITED_MAX - 1)];
	if (awaited->owner && awaited->identity != identity && awaited->thread == thread)
		return false;
	*awaited = (struct walk_awaited){ memory->owner, identity, thread };
	program->is_awaiting = true;
	return true;
}

/*
 * The identity of an element's object, which is emitted if it is new, and again if its text could
 * not be noted; 0: it cannot be read.
 */
static __always_inline uint64_t walk_read_object(struct walk *walk, const struct walk_maps *maps,
						 const struct walk_object *object, uint64_t address)
{
	struct walk_memory *memory = &walk->work->memory;
	uint64_t identity;
	long r = -EAGAIN;

	identity = address ? walk_find_identity(object, memory, address) : 0;
	if (!identity || walk_is_emitted(walk, address, identity))
		return identity;
	if (walk_has_room(&walk->work->state))
		r = walk_emit(walk, memory, maps->parts, address, identity,
			      walk_read_all(object, memory, address));
	if (r || walk_await(walk->program, memory))
		walk_note(walk, address, identity, r);
	return identity;
}
