/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the walk program of the current process (walk-program.h), in the moment of a sample, and
 * emits objects that are new. The kernel verifies functions that are not static by themselves,
 * once; in place, their branches multiply with those around them, and are too many.
 */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "common/base/hash.h"
#include "common/stream/script-walk.h"
#include "common/wire/wire.h"
#include "perf-source/bpf/read-budget.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/walk-program.h"

enum {
	WALK_PAGE = 4096,
	WALK_SEEN_SETS = 1 << 15, /* of objects of all processes that are known to be emitted, */
	WALK_SEEN_WAYS = 4,	  /* so many each */
	WALK_NEW_MAX = 64,	  /* objects that one sample emits; others wait for the next one */
	/* Of a text's head, of the text behind it, and of the end of a longer one, for identities.
	 */
	WALK_HEAD_WORDS = WALK_HEAD_MAX / 8,
	WALK_NEAR_WORDS = 14, /* of a text that is read with its head */
	WALK_TEXT_WORDS = 32,
	WALK_END_WORDS = 8,
	WALK_TCB_SELF = 0x10, /* tcbhead_t begins with the thread pointer, and has it here again */
	/* Where glibc keeps a thread's first keys: of each a sequence number and the value. */
	WALK_KEYS = 0x310,
	WALK_KEYS_MAX = 32,
	WALK_KEY_SIZE = 16,
	WALK_KEY_VALUE = 8,
	WALK_MEMORY_MAX = WALK_OBJECT_MAX + WALK_TEXTS_MAX * (8 + WALK_TEXT_MAX),
};

/* By PID. context.bpf.c removes processes that end or execute another program. */
struct walk_programs {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WALK_PROGRAMS_MAX);
	__type(key, uint32_t);
	__type(value, struct walk_program);
};

/*
 * The objects that were emitted, each as a hash of its process, its address and its identity, in
 * the set where it belongs by the first two. An object that takes the place of another one has that
 * emitted again. A word is written at once and no lock is taken, so programs may interrupt each
 * other anywhere.
 */
struct walk_seen_set {
	uint64_t items[WALK_SEEN_WAYS]; /* 0: free */
};

struct walk_seen {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_SEEN_SETS);
	__type(key, uint32_t);
	__type(value, struct walk_seen_set);
};

/* What changes from element to element. In a map, as the verifier follows values on the stack. */
struct walk_state {
	uint64_t address; /* of the next element */
	uint64_t used;	  /* bytes of the part that the walk becomes */
	uint64_t room;	  /* bytes of records of objects that may be emitted */
	uint64_t n_emitted;
	uint64_t n_left; /* objects that are new, but that it was not allowed to emit */
	uint32_t n;	 /* elements of the list */
	uint32_t end;
	uint32_t n_new;
	uint32_t is_lost; /* an object had no room in the ring */
	uint32_t window;  /* bytes of an element, with the word behind them */
	uint32_t reserved;
};

/* An object and its texts: of each its size (8 bytes), and its bytes up to a multiple of 8. */
struct walk_memory {
	struct walk_state state;
	struct sample_part part;
	uint64_t identity;
	char bytes[WALK_MEMORY_MAX + WALK_TEXT_MAX];
	uint64_t head[WALK_HEAD_WORDS + WALK_MORE_MAX / 8 + WALK_NEAR_WORDS + 1],
		text[WALK_TEXT_WORDS + 1];
};

struct walk {
	void *context; /* of the BPF program */
	struct walk_program *program;
	const struct walk_list *list; /* the current one */
	char *bytes;		      /* of the part that the walk becomes */
	struct walk_memory *memory;
	uint64_t thread; /* the thread pointer */
	uint32_t pid, number;
};

static __always_inline uint64_t walk_read_pointer(uint64_t address)
{
	uint64_t pointer = 0;

	bpf_probe_read_user(&pointer, sizeof(pointer), (const void *)address);
	return pointer;
}

/*
 * Where the current thread has the value of a key; 0: the key is not in use, or it is not a thread
 * of glibc (tcbhead_t), as others have no such place.
 */
static __always_inline uint64_t walk_find_key(const struct walk_root *root, uint64_t thread)
{
	uint32_t key = 0, flag = 1;

	if (root->flag)
		bpf_probe_read_user(&flag, sizeof(flag), (const void *)(root->start + root->flag));
	if (flag != 1 || walk_read_pointer(thread) != thread ||
	    walk_read_pointer(thread + WALK_TCB_SELF) != thread ||
	    bpf_probe_read_user(&key, sizeof(key), (const void *)root->start) ||
	    key >= WALK_KEYS_MAX)
		return 0;
	return thread + WALK_KEYS + key * WALK_KEY_SIZE + WALK_KEY_VALUE;
}

/* The address of the first element; 0: the thread has none. */
__noinline uint64_t walk_find_root(const struct walk_root *root, uint64_t thread)
{
	uint64_t at = 0;

	if (!root)
		return 0;
	at = root->base == WALK_BASE_ADDRESS ? root->start : 0;
	if (root->base == WALK_BASE_THREAD)
		at = thread + root->start;
	if (root->base == WALK_BASE_THREAD_KEY)
		at = walk_find_key(root, thread);
	for (uint32_t i = 0; i < WALK_LOADS_MAX && i < root->n_loads && at; i++) {
		at = walk_read_pointer(at);
		if (i == 0 && root->self >= 0 && at && walk_read_pointer(at + root->self) != thread)
			return 0;
		at = at ? at + root->loads[i] : 0;
	}
	return at;
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

/* How many bytes a head has. */
static __always_inline uint64_t walk_head_size(const struct walk_text *text,
					       const struct walk_memory *memory)
{
	uint64_t is_plain = memory->head[text->unit % WALK_HEAD_WORDS] >> (text->plain & 63) & 1;

	return text->skip + (text->unit && !is_plain ? text->more : 0);
}

/* How many bytes of text a head has behind it. */
static __always_inline uint64_t walk_text_size(const struct walk_text *text,
					       const struct walk_memory *memory)
{
	uint64_t length = memory->head[text->length % WALK_HEAD_WORDS], unit = 1;

	if (text->unit)
		unit = memory->head[text->unit % WALK_HEAD_WORDS] >> (text->unit_shift & 63) & 7;
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

/* The address of a text: of what was read before it, `object` or `memory->head`. */
static __always_inline uint64_t walk_text_address(const struct walk_text *text, const char *object,
						  const uint64_t *head)
{
	uint64_t at = text->pointer;

	barrier_var(at);
	if (text->is_of_last)
		return at > WALK_HEAD_MAX - 8 ? 0 : *(const uint64_t *)((const char *)head + at);
	return at > WALK_OBJECT_MAX - 8 ? 0 : *(const uint64_t *)(object + at);
}

/* Mixes in what a pointer of an object leads to: words of its head, and the text behind it. */
__noinline uint64_t walk_mix_text(uint64_t hash, const struct walk_text *text,
				  struct walk_memory *memory, uint64_t address)
{
	uint64_t known, size, n_read, skip, most = WALK_TEXT_WORDS * 8, end = WALK_END_WORDS * 8;

	if (!text || !memory || !text->size)
		return hash;
	n_read = walk_read_head(memory, address);
	skip = walk_head_size(text, memory);
	barrier_var(skip);
	if (!n_read || skip > WALK_HEAD_MAX + WALK_MORE_MAX)
		return hash;
	for (uint32_t i = 0; i < WALK_HEAD_WORDS && text->words >> i; i++)
		hash = walk_mix(hash, memory->head[i] & walk_mask(text->words >> i));
	known = text->hash ? memory->head[text->hash % WALK_HEAD_WORDS] : 0;
	if (!text->length || (known && known != UINT64_MAX))
		return walk_mix(hash, known);
	size = walk_text_size(text, memory);
	barrier_var(size);
	if (size <= WALK_NEAR_WORDS * 8 && skip + size <= n_read)
		return walk_mix_words(hash, memory->head + skip / 8, size);
	hash = walk_mix_bytes(hash, memory, address + skip, size < most ? size : most);
	if (size > most)
		hash = walk_mix_bytes(hash, memory, address + skip + size - end, end);
	return hash;
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
	if (size > WALK_OBJECT_MAX || type_at > WALK_OBJECT_MAX - 8 ||
	    bpf_probe_read_user(memory->bytes, size, (const void *)address) ||
	    (object->type && *(const uint64_t *)(memory->bytes + type_at) != object->type))
		return 0;
	words = (const void *)memory->bytes;
	for (uint32_t i = 0; i < WALK_OBJECT_MAX / 8 && object->words >> i; i++)
		hash = walk_mix(hash, words[i] & walk_mask(object->words >> i));
	for (uint32_t i = 0; i < WALK_TEXTS_MAX; i++)
		hash = walk_mix_text(
			hash, &object->texts[i], memory,
			walk_text_address(&object->texts[i], memory->bytes, memory->head));
	return hash | 1;
}

/* The identity of an object by a part that has a number of its own; 0: it has none. */
static __always_inline uint64_t walk_brief_identity(const struct walk_object *object,
						    struct walk_memory *memory, uint64_t address)
{
	uint64_t size = object->part_size, at = object->unique, hash = 2;

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

/* Reads an object, and its texts behind it. Returns the bytes of all; 0: it cannot be read. */
__noinline uint64_t walk_read_all(const struct walk_object *object, struct walk_memory *memory,
				  uint64_t address)
{
	uint64_t used;

	if (!object || !memory)
		return 0;
	used = object->size;
	barrier_var(used);
	if (used > WALK_OBJECT_MAX ||
	    bpf_probe_read_user(memory->bytes, used, (const void *)address))
		return 0;
	for (uint32_t i = 0; i < WALK_TEXTS_MAX; i++) {
		const struct walk_text *text = &object->texts[i];
		uint64_t size = text->size, n;

		barrier_var(used);
		if (used > WALK_MEMORY_MAX - 8 || !size)
			break;
		n = walk_read_text(memory->bytes + used + 8,
				   walk_text_address(text, memory->bytes, memory->head), size);
		*(uint64_t *)(memory->bytes + used) = n;
		for (uint32_t j = 0; j < WALK_HEAD_WORDS; j++)
			memory->head[j] = *(uint64_t *)(memory->bytes + used + 8 + j * 8) &
					  walk_mask(n >= WALK_HEAD_MAX);
		used += 8 + ((n + 7) & ~7ULL);
	}
	return used;
}

static __always_inline bool walk_is_in(const struct walk_seen_set *set, uint64_t item)
{
	bool is_in = false;

	for (uint32_t i = 0; i < WALK_SEEN_WAYS; i++)
		is_in |= set->items[i] == item;
	return is_in;
}

/* In a free place, or in the place of any other one. */
static __always_inline void walk_add(struct walk_seen_set *set, uint64_t item)
{
	uint32_t at = item % WALK_SEEN_WAYS;

	for (uint32_t i = 0; i < WALK_SEEN_WAYS; i++)
		at = set->items[i] ? at : i;
	if (at < WALK_SEEN_WAYS)
		*(volatile uint64_t *)&set->items[at] = item;
}

/* Emits an object with its texts. 0 or -errno: -ENOSPC: it is lost. */
static __always_inline long walk_emit(struct walk *walk, void *parts, uint64_t address,
				      uint64_t identity, uint64_t size)
{
	struct walk_memory *memory = walk->memory;
	long r;

	memory->identity = identity;
	memory->part.kind = SAMPLE_PART_MEMORY;
	memory->part.address = address;
	memory->part.end = 0;
	memory->part.size = sizeof(memory->identity) + size;
	barrier_var(size);
	if (size > WALK_MEMORY_MAX)
		return -E2BIG;
	memory->state.n_new++;
	r = bpf_perf_event_output(walk->context, parts, BPF_F_CURRENT_CPU, &memory->part,
				  sizeof(memory->part) + sizeof(memory->identity) + size);
	if (r == 0)
		memory->state.n_emitted += read_record_size(sizeof(memory->identity) + size);
	return r;
}

/* Emits an object that is new, if `seen` does not have `item`. */
static __always_inline void walk_note_object(struct walk *walk, struct walk_seen_set *seen,
					     uint64_t item, void *parts, uint64_t address,
					     uint64_t identity)
{
	struct walk_state *state = &walk->memory->state;
	long r = -EAGAIN;

	if (!seen || walk_is_in(seen, item))
		return;
	if (state->n_new < WALK_NEW_MAX &&
	    state->n_emitted + read_record_size(sizeof(identity) + WALK_MEMORY_MAX) <= state->room)
		r = walk_emit(walk, parts, address, identity,
			      walk_read_all(&walk->program->object, walk->memory, address));
	if (r == 0)
		walk_add(seen, item);
	state->n_left += r != 0;
	state->is_lost |= r == -ENOSPC;
}

/* The identity of an object, which is emitted if it is new; 0: it cannot be read. */
static __always_inline uint64_t walk_read_object(struct walk *walk, void *all_seen, void *parts,
						 uint64_t address)
{
	const struct walk_object *object = &walk->program->object;
	uint64_t identity, place;
	uint32_t key;

	if (!address)
		return 0;
	identity = walk_brief_identity(object, walk->memory, address);
	if (!identity)
		identity = walk_identity(object, walk->memory, address);
	if (!identity)
		return 0;
	place = walk_mix(walk_mix(walk->program->incarnation, walk->pid), address);
	key = place % WALK_SEEN_SETS;
	walk_note_object(walk, bpf_map_lookup_elem(all_seen, &key), walk_mix(place, identity) | 1,
			 parts, address, identity);
	return identity;
}

static __always_inline long walk_stop(struct walk *walk, enum wire_walk_end end)
{
	walk->memory->state.end = end;
	return 1;
}

/* Puts the word behind a window to which it leads; 0: it leads nowhere. */
static __always_inline void walk_put_word(const struct walk_word *word, char *window, uint64_t size)
{
	uint64_t at = word->pointer, index = word->index, further;

	barrier_var(at);
	barrier_var(index);
	if (!word->n_loads || at > WALK_WINDOW_MAX - 8 || index > WALK_WINDOW_MAX - 4)
		return;
	further = *(const uint32_t *)(window + index) * (uint64_t)word->index_scale;
	at = *(const uint64_t *)(window + at) & word->pointer_mask;
	for (uint32_t i = 0; i < WALK_WORD_LOADS_MAX && i < word->n_loads && at; i++)
		at = walk_read_pointer(at + word->loads[i] +
				       (further & walk_mask(i + 1 == word->n_loads)));
	*(uint64_t *)(window + size) = at;
}

/* Reads the next element of a list. 1: it was the last one. */
static __always_inline long walk_read_element(struct walk *walk, void *seen, void *parts)
{
	const struct walk_object *object = &walk->program->object;
	uint64_t used = walk->memory->state.used, window = walk->list->window,
		 next = walk->list->next;
	uint64_t pointer = object->pointer;
	struct walk_element *element;
	char *bytes;

	if (!walk->memory->state.address)
		return walk_stop(walk, WIRE_walk_end_END);
	barrier_var(used);
	barrier_var(window);
	barrier_var(next);
	barrier_var(pointer);
	if (walk->memory->state.n == walk->list->limit ||
	    used > SAMPLE_PART_MAX - sizeof(*element) - WALK_WINDOW_MAX - WALK_WORD_SIZE)
		return walk_stop(walk, WIRE_walk_end_LIMIT);
	if (window > WALK_WINDOW_MAX || next > WALK_WINDOW_MAX - 8 || pointer > WALK_WINDOW_MAX - 8)
		return 1;
	element = (void *)(walk->bytes + used);
	bytes = walk->bytes + used + sizeof(*element);
	if (bpf_probe_read_user(bytes, window, (const void *)walk->memory->state.address))
		return walk_stop(walk, WIRE_walk_end_ABSENT);
	element->address = walk->memory->state.address;
	element->identity = 0;
	if (walk->number == 0 && object->size)
		element->identity = walk_read_object(walk, seen, parts,
						     *(const uint64_t *)(bytes + pointer) &
							     object->pointer_mask);
	if (walk->number == 0)
		walk_put_word(&walk->program->word, bytes, window);
	walk->memory->state.used = used + sizeof(*element) + walk->memory->state.window;
	walk->memory->state.n++;
	walk->memory->state.address = *(const uint64_t *)(bytes + next);
	return walk->memory->state.is_lost ? 1 : 0;
}

/* Goes to a list, and to its first element. */
static __always_inline void walk_begin_list(struct walk *walk, const struct walk_list *list,
					    uint32_t number)
{
	walk->list = list;
	walk->number = number;
	walk->memory->state.n = 0;
	walk->memory->state.window =
		list->window + (number == 0 && walk->program->word.n_loads ? WALK_WORD_SIZE : 0);
	walk->memory->state.end = WIRE_walk_end_NO_ROOT;
	walk->memory->state.used += sizeof(struct walk_list_head);
	walk->memory->state.address = walk_find_root(&list->roots[0], walk->thread);
	if (!walk->memory->state.address)
		walk->memory->state.address = walk_find_root(&list->roots[1], walk->thread);
}

/* Writes the head of a list, which lies at `at`. */
static __always_inline void walk_end_list(struct walk *walk, uint64_t at)
{
	barrier_var(at);
	if (at > SAMPLE_PART_MAX - sizeof(struct walk_list_head))
		return;
	*(struct walk_list_head *)(walk->bytes + at) = (struct walk_list_head){
		.list = walk->number,
		.window = walk->memory->state.window,
		.n = walk->memory->state.n,
		.end = walk->memory->state.end,
	};
}

/*
 * Whether a walk program is of the current memory: between an exec's change of memory and its
 * tracepoint, it is still that of the program before.
 */
static __always_inline bool walk_is_of(struct walk_program *program, const struct task_struct *task)
{
	uint64_t memory = (uintptr_t)task->mm;

	if (!program->lists[0].window)
		return false;
	if (!program->memory)
		program->memory = memory;
	return program->memory == memory;
}

/* Walks along all lists; `read` calls walk_read_element(), as only it can name the maps. */
static __always_inline void walk_run(struct walk *walk, long (*read)(uint32_t i, void *walk),
				     uint64_t sp, uint64_t room)
{
	struct walk_state *state = &walk->memory->state;

	*state = (struct walk_state){ .room = room };
	walk->memory->part.sp = sp;
	for (uint32_t i = 0; i < WALK_LISTS_MAX; i++) {
		const struct walk_list *list = &walk->program->lists[i];
		uint64_t at = state->used;

		if (!list->window || state->is_lost)
			continue;
		walk_begin_list(walk, list, i);
		if (state->address)
			bpf_loop(WALK_ELEMENTS_MAX + 1, read, walk, 0);
		walk_end_list(walk, at);
	}
}

static __always_inline void walk_count_left(const struct walk *walk, struct ring_share *share)
{
	if (walk->memory->state.n_left)
		__sync_fetch_and_add(&share->n_left, walk->memory->state.n_left);
}
