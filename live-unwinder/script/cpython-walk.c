/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "common/stream/script-place.h"
#include "live-unwinder/script/cpython-walk.h"

enum {
	LISTS_MAX = 2,
	FRAMES = 0,
	CFRAMES = 1,
	OWNED_BY_C = 3, /* FRAME_OWNED_BY_CSTACK: the frame that C has called, without code */
	CODE_UNIT = 2,	/* bytes of an instruction */
};

/* As perf-source/bpf/walk-program.h has them: sample.walk. */
struct list_head {
	uint16_t list, window, n, end;
};

struct element_head {
	uint64_t address, identity;
};

struct walk_list_view {
	const char *elements; /* NULL: there is no such list */
	size_t window, n;
	enum wire_walk_end end;
};

struct cpython_walk {
	const struct cpython_fields *fields;
	const struct code_table *codes;
	uint64_t process;
	struct walk_list_view lists[LISTS_MAX];
	struct script_stack *stack;
	uint64_t segment_frame; /* address of the current segment's first frame; 0: none yet */
	uint32_t n_in_segment;
};

static bool read_lists(const struct wire_blob *blob, struct walk_list_view lists[LISTS_MAX])
{
	const char *at = blob->data, *end = at + blob->size;
	struct list_head head;

	while (at < end) {
		size_t size;

		if ((size_t)(end - at) < sizeof(head))
			return false;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		size = (sizeof(struct element_head) + head.window) * head.n;
		if ((size_t)(end - at) < size || head.list >= LISTS_MAX || !head.window)
			return false;
		lists[head.list] = (struct walk_list_view){ at, head.window, head.n, head.end };
		at += size;
	}
	return lists[FRAMES].elements;
}

static const char *element_at(const struct walk_list_view *list, size_t i, struct element_head *ret)
{
	const char *at = list->elements + i * (sizeof(*ret) + list->window);

	memcpy(ret, at, sizeof(*ret));
	return at + sizeof(*ret);
}

static bool has_field(const struct walk_list_view *list, int64_t at, size_t size)
{
	return at >= 0 && (size_t)at + size <= list->window;
}

static uint64_t read_word(const char *window, int64_t at)
{
	uint64_t word;

	memcpy(&word, window + at, sizeof(word));
	return word;
}

/* Whether the walk's windows hold the fields. */
static bool fits(const struct cpython_walk *walk)
{
	const struct cpython_fields *fields = walk->fields;
	const struct walk_list_view *frames = &walk->lists[FRAMES],
				    *cframes = &walk->lists[CFRAMES];

	if (!has_field(frames, fields->frame_code, sizeof(uint64_t)) ||
	    !has_field(frames, fields->frame_previous, sizeof(uint64_t)) ||
	    !has_field(frames, fields->frame_instruction, sizeof(uint64_t)) ||
	    !has_field(frames, fields->frame_owner, 1))
		return false;
	if (fields->frame_entry >= 0 &&
	    !(has_field(frames, fields->frame_entry, 1) && cframes->elements))
		return false;
	return !cframes->elements ||
	       (has_field(cframes, fields->cframe_frame, sizeof(uint64_t)) &&
		has_field(cframes, fields->cframe_previous, sizeof(uint64_t)));
}

/* The place of a frame; false: it is none. Of code that is not known only that it is there. */
static bool find_place(const struct cpython_walk *walk, const struct element_head *element,
		       const char *window, uint64_t *ret)
{
	const struct cpython_fields *fields = walk->fields;
	uint64_t code = read_word(window, fields->frame_code);
	uint64_t number = code_table_find(walk->codes, walk->process, code, element->identity);
	uint64_t instruction = read_word(window, fields->frame_instruction);
	uint64_t first = code + fields->code_bytes;

	if (!element->identity || number == CODE_TABLE_NO_CODE || instruction < first - CODE_UNIT ||
	    (instruction - (first - CODE_UNIT)) % CODE_UNIT ||
	    (instruction - (first - CODE_UNIT)) / CODE_UNIT >= SCRIPT_INSTRUCTIONS_MAX)
		return false;
	*ret = number ? script_place(number, (instruction - (first - CODE_UNIT)) / CODE_UNIT) : 0;
	return true;
}

/*
 * Ends a segment. Up to 3.12 the list of activations has its first frame again, and its element
 * lies in the C frame. False: it does not.
 */
static bool end_segment(struct cpython_walk *walk, uint64_t anchor)
{
	const struct walk_list_view *cframes = &walk->lists[CFRAMES];
	struct script_stack *stack = walk->stack;

	if (cframes->elements) {
		struct element_head head;
		const char *window;

		if (stack->n_segments >= cframes->n)
			return false;
		window = element_at(cframes, stack->n_segments, &head);
		if (read_word(window, walk->fields->cframe_frame) != walk->segment_frame)
			return false;
		if (walk->fields->frame_entry >= 0)
			anchor = head.address;
	}
	stack->segments[stack->n_segments++] =
		(struct script_segment){ anchor, walk->n_in_segment };
	walk->segment_frame = walk->n_in_segment = 0;
	return true;
}

/* Takes one frame; false: the lists are torn. */
static bool take_frame(struct cpython_walk *walk, size_t i)
{
	const struct cpython_fields *fields = walk->fields;
	struct script_stack *stack = walk->stack;
	struct element_head element;
	const char *window = element_at(&walk->lists[FRAMES], i, &element);
	uint8_t owner = window[fields->frame_owner];
	bool has_entries = fields->frame_entry >= 0;

	if (owner > OWNED_BY_C || (has_entries && owner == OWNED_BY_C))
		return false;
	if (!walk->segment_frame)
		walk->segment_frame = element.address;
	if (owner == OWNED_BY_C)
		return end_segment(walk, element.address);
	if (!find_place(walk, &element, window, &stack->places[stack->n]))
		return false;
	stack->n++;
	walk->n_in_segment++;
	return !has_entries || !window[fields->frame_entry] || end_segment(walk, 0);
}

static enum script_outcome read_frames(struct cpython_walk *walk)
{
	const struct walk_list_view *frames = &walk->lists[FRAMES];
	struct script_stack *stack = walk->stack;

	if (frames->n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	for (size_t i = 0; i < frames->n; i++)
		if (!take_frame(walk, i))
			return SCRIPT_TORN;
	if (frames->end == WIRE_walk_end_LIMIT) {
		stack->n -= walk->n_in_segment; /* nobody knows where that segment is */
		return SCRIPT_LIMIT;
	}
	/* A frame without a caller that C has not called is no last one. */
	return walk->segment_frame ? SCRIPT_TORN : SCRIPT_WHOLE;
}

static enum script_outcome read_walk(struct cpython_walk *walk, const struct wire_sample *sample)
{
	const struct walk_list_view *frames = &walk->lists[FRAMES];

	if (sample->walk_end == WIRE_walk_end_BUDGET)
		return SCRIPT_BUDGET;
	if (!read_lists(&sample->walk, walk->lists))
		return SCRIPT_DAMAGED;
	if (frames->end == WIRE_walk_end_NO_ROOT || !frames->n)
		return SCRIPT_NO_FRAMES;
	if (!fits(walk))
		return SCRIPT_DAMAGED;
	return frames->end == WIRE_walk_end_ABSENT ? SCRIPT_ABSENT : read_frames(walk);
}

enum script_outcome cpython_walk_read(const struct cpython_fields *fields,
				      const struct code_table *codes,
				      const struct wire_sample *sample, struct script_stack *ret)
{
	struct cpython_walk walk = {
		.fields = fields,
		.codes = codes,
		.process = sample->process,
		.stack = ret,
	};
	enum script_outcome outcome;

	ret->n = ret->n_segments = 0;
	outcome = read_walk(&walk, sample);
	if (outcome > SCRIPT_LIMIT)
		ret->n = ret->n_segments = 0;
	return outcome;
}
