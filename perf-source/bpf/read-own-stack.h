/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a stack that made code has for itself (struct walk_own_stack): its bounds, the code that is
 * executed, and all return addresses on it, with their functions.
 */
#pragma once

#include "perf-source/bpf/read-root.h"

enum {
	WALK_OWN_SLOTS_MAX = 4096, /* words that are read */
	WALK_OWN_REACH = 8 << 20,  /* bytes: so near to where it begins is the thread's own stack */
	WALK_OWN_CODES = 5, /* windows of code, of which one is in front of what is executed */
	WALK_TABLE_STEPS = 24,
	WALK_MODULE_SIZE = 16, /* in the table: its begin, and its end */
	WALK_LINES_SIZE_MAX = 1 << 20,
	WALK_RETURN_SIZE = sizeof(struct walk_element) + sizeof(struct walk_return),
};

/* How many of `n` elements of a sorted table, of `size` bytes each, begin at or before a place. */
__noinline uint64_t walk_count_before(uint64_t table, uint64_t n, uint64_t size, uint64_t place)
{
	uint64_t low = 0, high = n;

	for (uint32_t i = 0; i < WALK_TABLE_STEPS && low < high; i++) {
		uint64_t middle = low + (high - low) / 2;

		if (walk_read_pointer(table + middle * size) <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Two words of a table, between which a place lies; or two words of one of its elements. */
struct walk_between {
	uint64_t from, to;
};

static __always_inline bool walk_is_between(uint64_t at, uint64_t place, struct walk_between *ret)
{
	return !bpf_probe_read_user(ret, sizeof(*ret), (const void *)at) && ret->from <= place &&
	       place < ret->to;
}

/*
 * Which of `n` elements of a sorted table has a place, from 1 on; 0: none has. It is looked first
 * at the one that had it last time. Elements have their begin and their end, or their begins.
 */
static __always_inline uint64_t walk_find_between(uint64_t table, uint64_t n, uint64_t size,
						  uint64_t place, uint64_t last,
						  struct walk_between *ret)
{
	if (last && last <= n && walk_is_between(table + (last - 1) * size, place, ret))
		return last;
	last = walk_count_before(table, n, size, place);
	return last && walk_is_between(table + (last - 1) * size, place, ret) ? last : 0;
}

/* The structure that leads to lines: its words. */
enum { WALK_LINES_WORDS = 4 };

static __always_inline uint64_t walk_lines_word(const uint64_t *words, uint64_t at)
{
	return words[at / sizeof(*words) % WALK_LINES_WORDS];
}

/* The file with a number, which is mostly that of the place before. */
static __always_inline uint64_t walk_find_file(const struct walk_own_stack *program,
					       struct walk_own *own, uint64_t files,
					       uint64_t number)
{
	uint64_t at = files + number * sizeof(at);

	if (own->file_at != at) {
		own->file_at = at;
		own->known_file = walk_read_pointer(at) & program->file_mask;
		if (own->known_file)
			own->known_file -= program->file_before;
	}
	return own->known_file;
}

/* The i-th line of a function, whose first place is there; 0: it is none. */
static __always_inline uint32_t walk_read_line(const struct walk_own_stack *program,
					       const uint64_t *words, uint32_t size, uint64_t first,
					       uint64_t i)
{
	uint64_t at = walk_lines_word(words, program->line_words);
	uint32_t line = 0;

	i += (first - walk_lines_word(words, program->line_places)) / sizeof(first);
	bpf_probe_read_user(&line, size == sizeof(uint16_t) ? sizeof(uint16_t) : sizeof(line),
			    (const void *)(at + i * size));
	return line;
}

/* Finds what the table of lines says of a place in the i-th function, and the file of that. */
static __always_inline void walk_find_line(const struct walk_own_stack *program,
					   struct walk_own *own, uint64_t module, uint64_t i,
					   uint64_t place)
{
	uint64_t at = walk_read_pointer(module + program->lines), words[WALK_LINES_WORDS], n;
	struct walk_between places, found;
	uint32_t size, line;

	if (!at || bpf_probe_read_user(words, sizeof(words), (const void *)at) ||
	    bpf_probe_read_user(&places, sizeof(places),
				(const void *)(at + program->line_places + i * sizeof(at))) ||
	    places.to <= places.from || places.to - places.from > WALK_LINES_SIZE_MAX)
		return;
	size = walk_lines_word(words, program->line_size);
	n = walk_find_between(places.from, (places.to - places.from) / sizeof(at), sizeof(at),
			      place, own->last.line, &found);
	own->last.line = n;
	own->line = n ? walk_read_line(program, words, size, places.from, n - 1) : 0;
	/* Before its first line a function is in the file of that. */
	line = own->line ? own->line : walk_read_line(program, words, size, places.from, 0);
	if (line)
		own->file =
			walk_find_file(program, own, walk_lines_word(words, program->line_files),
				       line >> (program->file_shift & 31));
}

/* Finds the function that has a place. */
__noinline int walk_find_function(const struct walk_own_stack *program, struct walk_own *own,
				  uint64_t place)
{
	struct walk_between module, function;
	uint64_t n, i;

	if (!program || !own)
		return 0;
	own->object = own->end = own->line = own->file = 0;
	own->last.module = walk_find_between(own->modules, own->n_modules, WALK_MODULE_SIZE, place,
					     own->last.module, &module);
	if (!own->last.module)
		return 0;
	n = walk_read_pointer(module.from + program->n_functions);
	i = walk_find_between(module.from + program->functions, n, sizeof(place), place,
			      own->last.function, &function);
	own->last.function = i;
	if (!i)
		return 0;
	own->object = function.from;
	own->end = function.to;
	walk_find_line(program, own, module.from, i - 1, place);
	return 1;
}

/* The same, from where it was found last time; in recursions it is that of the element before. */
static __always_inline void walk_find_again(struct walk *walk, const struct walk_maps *maps,
					    uint64_t place)
{
	struct walk_own *own = &walk->work->own;
	uint32_t key = walk_mix(walk->work->registers.pid, place) >> 32 & (WALK_CODES - 1);
	uint64_t *known = bpf_map_lookup_elem(maps->codes, &key);

	if (own->place == place)
		return;
	own->place = place;
	if (known)
		own->last = *(struct walk_found *)known;
	walk_find_function(&walk->program->own, own, place);
	if (known)
		*(struct walk_found *)known = own->last;
}

/* Appends a return address, that lies at `slot`. 1: there is no room. */
static __always_inline long walk_add_return(struct walk *walk, uint64_t slot,
					    const struct walk_return *found)
{
	struct walk_state *state = &walk->work->state;
	uint64_t used = state->used;
	struct walk_element *element;

	barrier_var(used);
	if (state->n == WALK_ELEMENTS_MAX ||
	    used > SAMPLE_PART_MAX - sizeof(*element) - sizeof(struct walk_return))
		return walk_stop(walk, WIRE_walk_end_LIMIT);
	element = (void *)(walk->bytes + used);
	*element = (struct walk_element){ .address = slot };
	*(struct walk_return *)(element + 1) = *found;
	state->used = used + sizeof(*element) + sizeof(struct walk_return);
	state->n++;
	return 0;
}

/*
 * Of words that are not in memory: in front of the noted top nothing may ever have been. 1: they
 * are of the stack.
 */
static __always_inline long walk_skip_words(struct walk *walk, uint64_t to)
{
	struct walk_own *own = &walk->work->own;

	own->from_there = to;
	return to <= own->bounds.top ? 0 : walk_stop(walk, WIRE_walk_end_ABSENT);
}

/* Looks at the i-th word. 1: it is the last one. */
static __always_inline long walk_read_slot(struct walk *walk, uint32_t i)
{
	const struct walk_own_stack *program = &walk->program->own;
	struct walk_own *own = &walk->work->own;
	uint64_t slot = own->from + i * sizeof(slot), word, size = own->bounds.high - slot;

	if (slot >= own->bounds.high)
		return walk_stop(walk, WIRE_walk_end_END);
	if (i % WALK_OWN_WORDS == 0) {
		size = size < sizeof(own->words) ? size : sizeof(own->words);
		barrier_var(size);
		if (size > sizeof(own->words) ||
		    bpf_probe_read_user(own->words, size, (const void *)slot))
			return walk_skip_words(walk, slot + sizeof(own->words));
	}
	if (slot < own->from_there)
		return 0;
	word = own->words[i % WALK_OWN_WORDS];
	if (word == program->last && own->is_moved) { /* there it ends */
		own->bounds.high = slot + sizeof(slot);
		walk_stop(walk, WIRE_walk_end_END);
		return 1 | walk_add_return(walk, slot, &(struct walk_return){ .pc = word });
	}
	if (word != program->last && (word <= own->code_from || word > own->code_to))
		return 0;
	return walk_add_return(walk, slot, &(struct walk_return){ .pc = word });
}

/* The next element of those that were appended, with its window behind it; NULL: there is none. */
static __always_inline struct walk_element *walk_next_return(struct walk *walk)
{
	uint64_t place = walk->work->state.place;

	barrier_var(place);
	if (place > SAMPLE_PART_MAX - WALK_RETURN_SIZE)
		return NULL;
	walk->work->state.place = place + WALK_RETURN_SIZE;
	return (void *)(walk->bytes + place);
}

/* Finds the function of the i-th element. 1: an object had no room. */
static __always_inline long walk_read_function(struct walk *walk, const struct walk_maps *maps,
					       uint32_t i)
{
	struct walk_state *state = &walk->work->state;
	struct walk_own *own = &walk->work->own;
	struct walk_element *element = walk_next_return(walk);
	struct walk_return *window;

	if (!element)
		return 1;
	window = (void *)(element + 1);
	if (!window->pc)
		return 0;
	walk_find_again(walk, maps, window->pc - (i > 0));
	if (i == 0) {
		own->bounds.code_from = own->object;
		own->bounds.code_to = own->end;
	}
	if (!own->object)
		return 0;
	window->object = own->object;
	window->line = own->line;
	walk->work->memory.found = own->file;
	element->identity = walk_read_object(walk, maps, &walk->program->object, own->object);
	return state->is_lost ? 1 : 0;
}

static __always_inline void walk_find_bounds(const struct walk *walk, uint64_t owner)
{
	const struct walk_own_stack *program = &walk->program->own;
	struct walk_own *own = &walk->work->own;

	own->place = own->file_at = own->from_there = own->is_moved = 0;
	own->bounds = (struct walk_bounds){
		.top = walk_read_pointer(owner + program->top),
		.low = walk_read_pointer(owner + program->low),
		.high = walk_read_pointer(owner + program->high),
		.other = walk_find_root(&program->other, walk->work->registers.thread, 0),
	};
	if (own->bounds.top >= own->bounds.low && own->bounds.top < own->bounds.high)
		return;
	/* While garbage is collected, the stack has been moved before the rest is. */
	own->is_moved = true;
	own->bounds.low = own->bounds.top;
	own->bounds.high = own->bounds.top + WALK_OWN_SLOTS_MAX * sizeof(own->bounds.top);
}

static __always_inline void walk_find_modules(const struct walk *walk)
{
	const struct walk_own_stack *program = &walk->program->own;
	struct walk_own *own = &walk->work->own;
	uint32_t version = 0;
	uint64_t at;

	bpf_probe_read_user(&version, sizeof(version), (const void *)program->version);
	at = program->modules + (uint64_t)version * program->version_size;
	own->modules = walk_read_pointer(at);
	own->n_modules = walk_read_pointer(at + sizeof(at));
	own->code_from = walk_read_pointer(own->modules);
	own->code_to = own->n_modules
			       ? walk_read_pointer(own->modules +
						   own->n_modules * WALK_MODULE_SIZE - sizeof(at))
			       : 0;
}

/*
 * Finds what the code executes, and the first word of its stack. While it has called functions of
 * C, the thread's own stack has the return address where it begins. 0: it executes nothing, but has
 * left its stack to a thread that executes functions of C for it.
 */
static __always_inline uint64_t walk_find_executed(const struct walk *walk, uint64_t *ret_sp)
{
	struct walk_own *own = &walk->work->own;
	uint64_t sp = walk->work->memory.part.sp, other = own->bounds.other;

	*ret_sp = 0;
	own->from = own->bounds.top;
	if (sp >= own->bounds.low && sp < own->bounds.high) {
		*ret_sp = own->from = sp;
		return walk->work->registers.instruction;
	}
	if (other - sp >= WALK_OWN_REACH)
		return 0;
	*ret_sp = other;
	own->from -= walk->program->own.unnoted;
	if (own->from < own->bounds.low || own->from > own->bounds.high)
		own->from = own->bounds.low;
	return sp == other ? walk->work->registers.instruction
			   : walk_read_pointer(other - sizeof(other));
}

/* Emits the bounds as the second list, */
static __always_inline void walk_put_bounds(struct walk *walk, uint64_t owner)
{
	struct walk_state *state = &walk->work->state;
	uint64_t at = state->used;
	struct walk_element *element;

	barrier_var(at);
	if (at > SAMPLE_PART_MAX - sizeof(struct walk_list_head) - sizeof(*element) -
			 sizeof(struct walk_bounds))
		return;
	element = (void *)(walk->bytes + at + sizeof(struct walk_list_head));
	*element = (struct walk_element){ .address = owner };
	*(struct walk_bounds *)(element + 1) = walk->work->own.bounds;
	state->number = state->n = 1;
	state->window = sizeof(struct walk_bounds);
	state->end = WIRE_walk_end_END;
	state->used =
		at + sizeof(struct walk_list_head) + sizeof(*element) + sizeof(struct walk_bounds);
	walk_end_list(walk, at);
}

/* and the code from an instruction on as the third one. */
static __always_inline void walk_put_executed(struct walk *walk, uint64_t pc)
{
	struct walk_state *state = &walk->work->state;
	uint64_t at = state->used;
	struct walk_element *element;

	state->number = 2;
	state->n = 0;
	state->window = WALK_CODE_WINDOW;
	state->end = WIRE_walk_end_END;
	state->used += sizeof(struct walk_list_head);
	pc -= WALK_CODE_WINDOW;
	for (uint32_t i = 0; i < WALK_OWN_CODES; i++) {
		uint64_t used = state->used;

		barrier_var(used);
		if (used > SAMPLE_PART_MAX - sizeof(*element) - WALK_CODE_WINDOW)
			break;
		element = (void *)(walk->bytes + used);
		if (bpf_probe_read_user(element + 1, WALK_CODE_WINDOW,
					(const void *)(pc + i * WALK_CODE_WINDOW)))
			continue;
		*element = (struct walk_element){ .address = pc + i * WALK_CODE_WINDOW };
		state->used = used + sizeof(*element) + WALK_CODE_WINDOW;
		state->n++;
	}
	walk_end_list(walk, at);
}

/* Reads all. */
static __always_inline void walk_run_own_stack(struct walk *walk,
					       const struct walk_callbacks *callbacks)
{
	struct walk_state *state = &walk->work->state;
	uint64_t at = state->used, sp = 0, pc = 0,
		 owner = walk_find_root(&walk->program->lists[0].roots[0],
					walk->work->registers.thread, 0);

	state->number = state->n = 0;
	state->window = sizeof(struct walk_return);
	state->end = WIRE_walk_end_NO_ROOT;
	state->used += sizeof(struct walk_list_head);
	state->place = state->used;
	if (owner) {
		walk_find_bounds(walk, owner);
		walk_find_modules(walk);
		pc = walk_find_executed(walk, &sp);
	}
	if (owner && !walk_add_return(walk, sp, &(struct walk_return){ .pc = pc })) {
		state->end = WIRE_walk_end_LIMIT;
		bpf_loop(WALK_OWN_SLOTS_MAX, callbacks->slot, walk, 0);
		bpf_loop(state->n, callbacks->function, walk, 0);
	}
	walk_end_list(walk, at);
	if (owner && !state->is_lost) {
		walk_put_bounds(walk, owner);
		walk_put_executed(walk, pc);
	}
}
