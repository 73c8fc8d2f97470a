/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/script/dotnet-walk.h"
#include "common/script/dotnet-code.h"
#include "live-unwinder/walk/walk-view.h"

enum { WORD = 8 };

uint64_t dotnet_code_trait(const struct wire_memory *record)
{
	return record->bytes.size == sizeof(struct dotnet_code);
}

/* A segment for the frame to which a word of the stack may return. */
static void add_return(struct script_stack *stack, const struct walk_element *element,
		       const struct walk_return *window, bool is_executed, uint64_t number)
{
	stack->places[stack->n++] = script_place(number, SCRIPT_INSTRUCTION_UNKNOWN);
	stack->segments[stack->n_segments++] = (struct script_segment){
		.anchor = is_executed ? element->address : element->address + WORD,
		.instruction = window->pc,
		.n = 1,
	};
}

enum script_outcome dotnet_walk_read(const struct code_table *codes,
				     const struct wire_sample *sample, struct script_stack *ret)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read(sample, lists);

	script_stack_begin(ret, SCRIPT_ANCHOR_RETURN);
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (lists[0].window != sizeof(struct walk_return))
		return SCRIPT_DAMAGED;
	for (size_t i = 0; i < lists[0].n && ret->n < SCRIPT_FRAMES_MAX; i++) {
		struct script_code_view view;
		struct walk_element element;
		struct walk_return window = walk_view_return(&lists[0], i, &element);

		if (window.object && code_table_find(codes, sample->process, window.object,
						     element.identity, &view) == CODE_IS_KNOWN)
			add_return(ret, &element, &window, !i, view.number);
	}
	return ret->n_segments ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}
