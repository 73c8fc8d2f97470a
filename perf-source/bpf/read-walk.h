/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the walk program of the current process (walk-program.h), in the moment of a sample. */
#pragma once

#include "perf-source/bpf/read-code.h"
#include "perf-source/bpf/read-frames.h"
#include "perf-source/bpf/read-kept.h"
#include "perf-source/bpf/read-managed.h"
#include "perf-source/bpf/read-own-stack.h"
#include "perf-source/bpf/read-source.h"

/* Puts the word behind a window to which it leads; 0: it leads nowhere. */
static __always_inline void walk_put_word(const struct walk_word *word, char *window, uint64_t size)
{
	uint64_t at = word->pointer, index = word->index, further;

	barrier_var(at);
	barrier_var(index);
	barrier_var(size); /* Linux 6.1 does not know what was compared once it is on the stack */
	if (!word->n_loads || at > WALK_WINDOW_MAX - 8 || index > WALK_WINDOW_MAX - 4 ||
	    size > WALK_WINDOW_MAX)
		return;
	further = *(const uint32_t *)(window + index) * (uint64_t)word->index_scale;
	at = *(const uint64_t *)(window + at) & word->pointer_mask;
	for (uint32_t i = 0; i < WALK_WORD_LOADS_MAX && i < word->n_loads && at; i++)
		at = walk_read_pointer(at + word->loads[i] +
				       (further & walk_mask(i + 1 == word->n_loads)));
	*(uint64_t *)(window + size) = at ? at - word->less : 0;
}

/* Whether an element is the last one by the word behind its window. */
static __always_inline bool walk_is_last(const struct walk_word *word, const char *window,
					 uint64_t size)
{
	return word->last_mask && size <= WALK_WINDOW_MAX &&
	       (*(const uint64_t *)(window + size) & word->last_mask) == word->last;
}

static __always_inline const struct walk_list *walk_current_list(const struct walk *walk)
{
	return &walk->program->lists[walk->work->state.number % WALK_LISTS_MAX];
}

/* Whether elements of the current list have a word and objects. */
static __always_inline bool walk_is_full(const struct walk *walk)
{
	return walk->work->state.number == 0 || walk_current_list(walk)->is_like_first;
}

/* Whether an element has an object. What lies in front of a stack's first word is old. */
static __always_inline bool walk_has_object(const struct walk *walk, const char *window)
{
	const struct walk_object *object = &walk->program->object;
	uint64_t at = object->kind_at,
		 begin = walk->work->state.address - walk_current_list(walk)->before;

	barrier_var(at);
	if (walk_current_list(walk)->rises && begin + object->pointer < walk->work->memory.part.sp)
		return false;
	return object->size && at <= WALK_WINDOW_MAX - 8 &&
	       (*(const uint64_t *)(window + at) & object->kind_mask) == object->kind;
}

/* The address of an element's object. */
static __always_inline uint64_t walk_object_address(const struct walk_object *object,
						    const char *window)
{
	uint64_t at = object->pointer, address;

	barrier_var(at);
	if (at > WALK_WINDOW_MAX - 8)
		return 0;
	address = *(const uint64_t *)(window + at) & object->pointer_mask;
	if (object->load && address)
		address = walk_read_pointer(address + object->load) & object->pointer_mask;
	return address;
}

/* Puts that address where the pointer was that has led to it. */
static __always_inline void walk_put_address(const struct walk_object *object, char *window,
					     uint64_t address)
{
	uint64_t at = object->pointer;

	barrier_var(at);
	if (object->load && at <= WALK_WINDOW_MAX - 8)
		*(uint64_t *)(window + at) = address;
}

/* Puts the identity of an element's object; when it is read once more, that is known. */
static __always_inline void walk_put_object(struct walk *walk, const struct walk_maps *maps,
					    char *window, uint64_t *to)
{
	struct walk_state *state = &walk->work->state;

	if (!state->is_again)
		state->object = walk_object_address(&walk->program->object, window);
	if (!state->is_again)
		state->identity =
			walk_read_object(walk, maps, &walk->program->object, state->object);
	walk_put_address(&walk->program->object, window, state->object);
	*to = state->identity;
}

/* Puts the identity of the other object to which an element leads; 0: it has none. */
static __always_inline void walk_put_beside(struct walk *walk, const struct walk_maps *maps,
					    const char *window, uint64_t *to)
{
	const struct walk_object *object = &walk->program->beside;
	uint64_t at = object->pointer, kind_at = object->kind_at;

	barrier_var(at);
	barrier_var(kind_at);
	*to = 0;
	if (at > WALK_WINDOW_MAX - 8 || kind_at > WALK_WINDOW_MAX - 8 ||
	    (walk->work->state.number == 0 &&
	     (*(const uint64_t *)(window + kind_at) & object->kind_mask) != object->kind))
		return;
	*to = walk_read_object(walk, maps, object,
			       *(const uint64_t *)(window + at) & object->pointer_mask);
}

/* Where the next element is in a list of heads with arrays; 0: there is none. */
static __always_inline uint64_t walk_next_in_arrays(const struct walk_list *list,
						    struct walk_state *state, const char *window)
{
	uint64_t next = list->next, array = list->array, last_at = list->array_last;
	int32_t last;

	barrier_var(next);
	barrier_var(array);
	barrier_var(last_at);
	if (next > WALK_WINDOW_MAX - 8 || array > WALK_WINDOW_MAX - 8 ||
	    last_at > WALK_WINDOW_MAX - 4)
		return 0;
	if (state->address == state->head) {
		state->head = 0;
		state->head_next = *(const uint64_t *)(window + next);
		state->array = *(const uint64_t *)(window + array);
		last = *(const int32_t *)(window + last_at);
		if (last >= 0)
			return state->array + (uint64_t)last * list->stride;
	} else if (state->address > state->array) {
		return state->address - list->stride;
	}
	state->head = state->head_next;
	return state->head;
}

/* Where the next element is in a list whose addresses fall (walk_list.steps); 0: there is none. */
static __always_inline uint64_t walk_next_below(const struct walk_list *list,
						const struct walk_state *state, uint64_t word)
{
	uint64_t down = word & ~7ULL, address;

	if (!(word & 3)) {
		down = walk_read_pointer(word - 4);
		down = ((down >> 8 & 0xff) + list->steps) * 8;
	}
	address = state->address - down;
	return address < state->address ? address : 0;
}

/*
 * Where the next element is while those of objects aside are read, or if the current one leads to
 * such; else `next`.
 */
static __always_inline uint64_t walk_next_aside(const struct walk_list *list,
						struct walk_state *state, const char *window,
						uint64_t next)
{
	uint64_t aside = list->aside, object;

	barrier_var(aside);
	if (aside > WALK_WINDOW_MAX - 8)
		return 0;
	if (state->aside) {
		object = walk_read_pointer(state->aside + list->aside_next);
	} else if (!*(const uint64_t *)(window + aside)) {
		object = state->address - list->aside_within;
		state->aside_back = next;
	} else {
		return next;
	}
	state->aside = object && walk_read_pointer(object + list->aside_next) ? object : 0;
	return state->aside ? walk_read_pointer(object + list->aside_element) : state->aside_back;
}

/* Goes on to the next element, or to the first one once more. */
static __always_inline void walk_advance(const struct walk *walk, const char *window)
{
	const struct walk_list *list = walk_current_list(walk);
	struct walk_state *state = &walk->work->state;
	uint64_t next = list->next, mark = list->mark,
		 instruction = walk->program->code.instruction, address;

	barrier_var(mark);
	barrier_var(instruction);
	if (mark > WALK_WINDOW_MAX - 8 || instruction > WALK_WINDOW_MAX - 8)
		return;
	mark = *(const uint64_t *)(window + mark);
	if (mark && (mark == list->marks[0] || mark == list->marks[1]))
		next = list->marked_next;
	barrier_var(next);
	if (next > WALK_WINDOW_MAX - 8)
		return;
	if (state->other) {
		state->instruction = state->other;
		state->other = 0;
		state->is_again = true;
		return;
	}
	state->is_again = false;
	if (list->array_last)
		address = walk_next_in_arrays(list, state, window);
	else if (list->steps)
		address = walk_next_below(list, state, *(const uint64_t *)(window + next));
	else
		address = list->stride ? state->address + list->stride
				       : *(const uint64_t *)(window + next);
	if (list->aside_within)
		address = walk_next_aside(list, state, window, address);
	state->address = list->rises && address <= state->address ? 0 : address;
	state->instruction = *(const uint64_t *)(window + instruction);
}

/* Where the identity of an element's other object is put. */
static __always_inline uint64_t *walk_beside_place(const struct walk *walk,
						   struct walk_element *element, uint64_t window)
{
	if (walk->work->state.number)
		return &element->identity;
	return (void *)((char *)(element + 1) + window +
			(walk->program->word.n_loads ? WALK_WORD_SIZE : 0));
}

/* How many bytes an element has of a list. */
static __always_inline uint32_t walk_window(const struct walk_program *program,
					    const struct walk_list *list, uint32_t number)
{
	uint32_t window = list->window;

	if ((number == 0 || list->is_like_first) && program->word.n_loads)
		window += WALK_WORD_SIZE;
	if (number == 0 && program->beside.size)
		window += WALK_BESIDE_SIZE;
	if (number == 0 && program->code.steps)
		window += WALK_CODE_SIZE;
	return window;
}

/*
 * What is executed in the first frame. A function that has no frame of its own, yet or any more,
 * was called by what has this one, and returns to there: then that is what the frame executes.
 * Which it is shows the stack, later. The frame pointer that a function has just saved is that of
 * the frame.
 */
static __always_inline void walk_begin_frames(const struct walk *walk)
{
	struct walk_state *state = &walk->work->state;
	uint64_t sp = walk->work->memory.part.sp, top = walk_read_pointer(sp);

	if (top == walk->work->registers.frame)
		top = walk_read_pointer(sp + sizeof(top));
	state->instruction = walk->work->registers.instruction;
	if (top < sp || top - sp > WALK_STACK)
		state->other = top;
}

/* What a root means that is no place: what the stack keeps, or a register; 0: there is none. */
static __always_inline uint64_t walk_root_value(const struct walk *walk,
						const struct walk_list *list,
						const struct walk_root *root)
{
	const struct walk_registers *registers = &walk->work->registers;

	if (root->base == WALK_BASE_KEPT)
		return walk->work->state.kept[list->kept % WALK_LISTS_MAX];
	if (root->base == WALK_BASE_REGISTER)
		return registers->instruction - root->start < (uint32_t)root->flag
			       ? registers->of_list
			       : 0;
	return registers->frame;
}

/* Goes to a list, and to its first element. */
static __always_inline void walk_begin_list(struct walk *walk, const struct walk_list *list,
					    uint32_t number)
{
	const struct walk_registers *registers = &walk->work->registers;
	struct walk_state *state = &walk->work->state;

	state->number = number;
	state->n = 0;
	state->window = walk_window(walk->program, list, number);
	state->end = WIRE_walk_end_NO_ROOT;
	state->used += sizeof(struct walk_list_head);
	state->instruction = state->other = state->is_again = state->aside = 0;
	state->address = walk_find_root(&list->roots[0], registers->thread,
					walk_root_value(walk, list, &list->roots[0]));
	state->head = state->address;
	if (state->address)
		return;
	state->address = walk_find_root(&list->roots[1], registers->thread,
					walk_root_value(walk, list, &list->roots[1]));
	if (state->address) {
		state->instruction =
			walk_find_root(&list->instruction, registers->thread, registers->frame);
		return;
	}
	if (list->owner.base != WALK_BASE_NONE &&
	    !walk_find_root(&list->owner, registers->thread, registers->frame))
		return;
	state->address = walk_find_root(&list->roots[2], registers->thread,
					walk_root_value(walk, list, &list->roots[2]));
	if (list->roots[2].base == WALK_BASE_FRAME)
		walk_begin_frames(walk);
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

/* Goes to a list. 1: there is none with this number. */
static __always_inline long walk_go_to_list(struct walk *walk, uint32_t number)
{
	struct walk_state *state = &walk->work->state;

	barrier_var(number);
	if (number >= WALK_LISTS_MAX || !walk->program->lists[number].window)
		return 1;
	state->list_at = state->used;
	walk_begin_list(walk, &walk->program->lists[number], number);
	if (number == 0)
		state->place = state->used;
	return 0;
}

/* Ends a list, and goes to the next one. 1: there is none. */
static __always_inline long walk_leave_list(struct walk *walk, enum wire_walk_end end)
{
	struct walk_state *state = &walk->work->state;

	state->end = end;
	walk_end_list(walk, state->list_at);
	if (state->number == 0)
		state->n_first = state->n;
	return walk_go_to_list(walk, state->number + 1);
}

/*
 * Reads the next element of the current list, or goes on to the next list. 1: that was all. All
 * lists have one loop: the kernel would verify a loop of loops once for each of them.
 */
static __always_inline long walk_read_element(struct walk *walk, const struct walk_maps *maps)
{
	struct walk_state *state = &walk->work->state;
	uint64_t used = state->used, window = walk_current_list(walk)->window;
	struct walk_element *element;
	uint64_t *code;
	char *bytes;

	if (!state->address)
		return walk_leave_list(walk, state->n ? WIRE_walk_end_END : WIRE_walk_end_NO_ROOT);
	barrier_var(used);
	barrier_var(window);
	if (state->n == walk_current_list(walk)->limit ||
	    used > SAMPLE_PART_MAX - sizeof(*element) - WALK_WINDOW_MAX - WALK_WORD_SIZE -
			    WALK_CODE_SIZE)
		return walk_leave_list(walk, WIRE_walk_end_LIMIT);
	if (window > WALK_WINDOW_MAX)
		return 1;
	element = (void *)(walk->bytes + used);
	bytes = walk->bytes + used + sizeof(*element);
	if (bpf_probe_read_user(bytes, window,
				(const void *)(state->address - walk_current_list(walk)->before)))
		return walk_leave_list(walk, WIRE_walk_end_ABSENT);
	element->address = state->address;
	element->identity = 0;
	if (walk_is_full(walk))
		walk_put_word(&walk->program->word, bytes, window);
	if (walk_is_full(walk) && walk_has_object(walk, bytes))
		walk_put_object(walk, maps, bytes, &element->identity);
	barrier_var(window);
	if (window > WALK_WINDOW_MAX)
		return 1;
	if (walk->program->beside.size)
		walk_put_beside(walk, maps, bytes, walk_beside_place(walk, element, window));
	if (walk->work->state.number == 0 && walk->program->code.steps) {
		code = (void *)(bytes + window +
				(walk->program->word.n_loads ? WALK_WORD_SIZE : 0));
		code[0] = state->instruction;
		code[1] = code[2] = 0;
	}
	state->used = used + sizeof(*element) + state->window;
	state->n++;
	walk_advance(walk, bytes);
	if (walk->work->state.number == 0 && walk_is_last(&walk->program->word, bytes, window))
		state->address = 0;
	return state->is_lost ? 1 : 0;
}

/* Walks along all lists. */
static __always_inline void walk_run_lists(struct walk *walk,
					   const struct walk_callbacks *callbacks)
{
	struct walk_state *state = &walk->work->state;

	walk_go_to_list(walk, 0);
	bpf_loop((WALK_ELEMENTS_MAX + 2) * WALK_LISTS_MAX, callbacks->element, walk, 0);
	if (state->is_lost) { /* in the middle of a list */
		walk_end_list(walk, state->list_at);
		return;
	}
	state->address = state->is_made = state->number = 0;
	state->window = walk_window(walk->program, &walk->program->lists[0], 0);
	if (walk->program->code.steps)
		bpf_loop(state->n_first, callbacks->code, walk, 0);
	if (state->n_first && !state->is_lost)
		walk_emit_sources(walk, callbacks);
}

/* Runs a walk program. */
static __always_inline void walk_run(struct walk *walk, const struct walk_callbacks *callbacks,
				     uint64_t sp, uint64_t room)
{
	struct walk_state *state = &walk->work->state;

	*state = (struct walk_state){ .room = room };
	walk->work->memory.part.sp = sp;
	walk->work->memory.found = walk->work->of_code.found = 0;
	if (walk->program->frames.heaps[0].to) {
		walk_run_frames(walk, callbacks);
		return;
	}
	if (walk->program->managed.map) {
		walk_run_managed(walk, callbacks);
		return;
	}
	if (walk->program->own.high) {
		walk_run_own_stack(walk, callbacks);
		return;
	}
	if (walk->program->kept.words)
		bpf_loop(walk->program->kept.words, callbacks->kept, walk, 0);
	walk_run_lists(walk, callbacks);
}

static __always_inline void walk_count_left(const struct walk *walk, struct ring_share *share)
{
	if (walk->work->state.n_left)
		__sync_fetch_and_add(&share->n_left, walk->work->state.n_left);
}
