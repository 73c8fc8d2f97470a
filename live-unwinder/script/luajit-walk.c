/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "common/script/luajit-frames.h"
#include "common/script/memory-pieces.h"
#include "common/script/script-place.h"
#include "live-unwinder/script/luajit-calls.h"
#include "live-unwinder/script/luajit-walk.h"
#include "live-unwinder/walk/stack-word.h"

enum {
	INSTRUCTION = 4, /* bytes */
	WORD = 8,
	RBX = 3, /* DWARF's number: behind what the interpreter executes (PC of vm_x64.dasc) */
	OTHER_THREADS = 3, /* the first list of one of those; the first is of the current one */
	CFRAMES_MAX = 256, /* of one thread, without frames of Lua between them */
	/* What a frame's link is (lj_frame.h); a function of Lua, if the lowest bits are 0. */
	LINK_KIND = 3,
	LINK_OF_C = 1,
	LINK_ALL = 7,
	LINK_CONTINUATION = 2,
	LINK_VARIABLE = 3, /* of a copy of the function's frame, behind its arguments */
	CALLBACK = 1,	   /* LJ_CONT_FFI_CALLBACK: C has called it */
};

/* An element of a list: a frame, by what is in front of its base. */
struct luajit_frame {
	uint64_t base, function, proto, link, continuation, continuation_pc, identity;
	struct script_code_view code; /* `number` 0: it is none of Lua */
};

struct luajit_walk {
	const struct luajit_fields *fields;
	const struct script_loop *loop;
	const struct code_table *codes;
	const struct script_thread *of;
	struct script_stack *stack;
	struct walk_list_view frames; /* of one thread */
	uint64_t thread_stack;	      /* where its own stack begins */
	uint64_t thread;	      /* its lua_State */
	uint64_t cframe;	      /* where the next segment is executed; 0: nowhere */
	uint64_t last_cframe;	      /* the one before */
	uint64_t pc;	/* behind what the next function of Lua executes; 0: not known */
	bool is_called; /* by a function of Lua, and `pc` tells where that is */
	size_t n;	/* functions of the current segment */
};

uint64_t luajit_code_size(const struct luajit_fields *fields, const struct wire_memory *record)
{
	uint64_t constants, end;
	uint32_t n, total;
	uint8_t type;

	if (!memory_field(&record->bytes, LUAJIT_TYPE_AT, &type, sizeof(type)) ||
	    type != LUAJIT_TYPE_OF_PROTO ||
	    !memory_field(&record->bytes, fields->proto_count, &n, sizeof(n)) ||
	    !memory_field(&record->bytes, fields->proto_total, &total, sizeof(total)) ||
	    !memory_field(&record->bytes, fields->proto_constants, &constants, sizeof(constants)))
		return 0;
	/* What looks like one by chance has no constants behind its code. */
	end = fields->proto_size + (uint64_t)n * INSTRUCTION;
	return constants - record->address >= end && constants - record->address <= total &&
			       n <= CODE_TRAIT_MAX
		       ? n
		       : 0;
}

static bool fits(const struct luajit_walk *walk)
{
	const struct luajit_fields *fields = walk->fields;

	return walk_view_has(&walk->frames, fields->frame_function, WORD) &&
	       walk_view_has(&walk->frames, fields->frame_proto, WORD) &&
	       walk_view_has(&walk->frames, fields->frame_link, WORD) &&
	       walk_view_has(&walk->frames, fields->frame_continuation, WORD) &&
	       walk_view_has(&walk->frames, fields->frame_continuation_pc, WORD);
}

/* SCRIPT_UNKNOWN: its function is of Lua, but the stream does not have it. */
static enum script_outcome read_frame(const struct luajit_walk *walk, size_t i,
				      struct luajit_frame *ret)
{
	const struct luajit_fields *fields = walk->fields;
	struct walk_element element;
	const char *window = walk_view_element(&walk->frames, i, &element);

	*ret = (struct luajit_frame){
		.base = element.address,
		.identity = element.identity,
		.function = walk_view_word(window, fields->frame_function) &
			    ((1ULL << LUAJIT_POINTER_BITS) - 1),
		.proto = walk_view_word(window, fields->frame_proto),
		.link = walk_view_word(window, fields->frame_link),
		.continuation = walk_view_word(window, fields->frame_continuation),
		.continuation_pc = walk_view_word(window, fields->frame_continuation_pc),
	};
	if (!ret->identity)
		return SCRIPT_WHOLE;
	switch (code_table_find(walk->codes, walk->of->sample->process, ret->proto, ret->identity,
				&ret->code)) {
	case CODE_IS_KNOWN:
	case CODE_IS_NONE:
		return SCRIPT_WHOLE;
	default:
		return SCRIPT_UNKNOWN;
	}
}

/* How many instructions behind the begin of a frame's code an address is; 0: it is in none. */
static uint64_t distance_of(const struct luajit_walk *walk, const struct luajit_frame *frame,
			    uint64_t pc)
{
	uint64_t n = (pc - frame->proto - walk->fields->proto_size) / INSTRUCTION;

	return frame->code.number && pc % INSTRUCTION == 0 && n <= frame->code.trait ? n : 0;
}

static bool is_of_lua(uint64_t link)
{
	return !(link & LINK_KIND);
}

/* Whether a frame was called by C, in another frame of that. */
static bool is_called_by_c(const struct luajit_frame *frame)
{
	return (frame->link & LINK_KIND) == LINK_OF_C ||
	       ((frame->link & LINK_ALL) == LINK_CONTINUATION && frame->continuation == CALLBACK);
}

/* Reads the next frame in C, and goes on to the one behind it. */
static bool leave_cframe(struct luajit_walk *walk, struct luajit_cframe *ret)
{
	if (!walk->cframe ||
	    !luajit_cframe_read(walk->of->sample, walk->of->sp, walk->cframe, ret) ||
	    ret->thread != walk->thread || (ret->previous && ret->previous <= walk->cframe))
		return false;
	walk->last_cframe = walk->cframe;
	walk->cframe = ret->previous;
	return true;
}

/*
 * The segment ends with a frame that C has called. Where C was called to do something for the
 * interpreter, in a protected frame, no frame of Lua may be.
 */
static enum script_outcome end_segment(struct luajit_walk *walk, uint64_t base)
{
	struct luajit_cframe cframe;

	for (size_t i = 0; i < CFRAMES_MAX; i++) {
		if (!leave_cframe(walk, &cframe))
			return SCRIPT_TORN;
		if (cframe.n_results >= 0 ||
		    base - WORD >= walk->thread_stack - (int64_t)cframe.n_results)
			break;
	}
	if (walk->n)
		walk->stack->segments[walk->stack->n_segments++] =
			(struct script_segment){ .anchor = walk->last_cframe, .n = walk->n };
	walk->n = 0;
	return SCRIPT_WHOLE;
}

/* Takes a function of Lua, which is so many instructions behind its begin; 0: not known. */
static void take_function(struct luajit_walk *walk, const struct luajit_frame *frame, uint64_t n)
{
	walk->stack->places[walk->stack->n++] =
		script_place(frame->code.number, n ? n - 1 : SCRIPT_INSTRUCTION_UNKNOWN);
	walk->n++;
}

/* Goes on to what has called a frame. */
static enum script_outcome follow_link(struct luajit_walk *walk, const struct luajit_frame *frame)
{
	walk->is_called = is_of_lua(frame->link);
	if (walk->is_called)
		walk->pc = frame->link;
	else if ((frame->link & LINK_ALL) == LINK_CONTINUATION)
		walk->pc = frame->continuation_pc;
	else if ((frame->link & LINK_ALL) != LINK_VARIABLE)
		walk->pc = 0;
	return is_called_by_c(frame) ? end_segment(walk, frame->base) : SCRIPT_WHOLE;
}

static enum script_outcome take_frame(struct luajit_walk *walk, const struct luajit_frame *frame)
{
	uint64_t n = distance_of(walk, frame, walk->pc);

	if (walk->is_called && !n)
		return SCRIPT_TORN;
	/* A copy of a frame is taken for both: the other one has the same function. */
	if ((frame->link & LINK_ALL) == LINK_VARIABLE)
		return frame->code.number ? SCRIPT_WHOLE : SCRIPT_TORN;
	if (frame->code.number)
		take_function(walk, frame, n);
	return follow_link(walk, frame);
}

/*
 * The frame of what the interpreter executes itself. A part of it that takes the place of a
 * function of C may have put its result where the function was; and what is left has noted already
 * where its caller goes on. So it counts only as what it is for certain.
 */
static enum script_outcome take_executed(struct luajit_walk *walk, const struct luajit_frame *frame)
{
	uint64_t pc = arch_sampled(walk->of->arch, walk->of->sample->registers.data, RBX);
	struct luajit_frame caller = { 0 };

	for (size_t i = 0; i < LUAJIT_TORN_MAX; i++)
		if (walk->fields->torn[i] == (int64_t)walk->of->told.pc)
			return SCRIPT_TORN;
	if (frame->code.number && pc == frame->proto + walk->fields->proto_size)
		pc += INSTRUCTION; /* it begins: that is added next */
	walk->pc = pc;
	if (pc != frame->link && distance_of(walk, frame, pc))
		return take_frame(walk, frame);
	if (pc == frame->link)
		return follow_link(walk, frame);
	if (frame->code.number || (walk->frames.n > 1 && read_frame(walk, 1, &caller)))
		return SCRIPT_TORN;
	/* The caller still executes: it has made a frame, whose link is an old one. */
	if (is_of_lua(frame->link) && distance_of(walk, &caller, pc))
		return SCRIPT_TORN;
	return follow_link(walk, frame);
}

/* The frame of what has called C: the interpreter has noted it before, and where it is. */
static enum script_outcome take_calling(struct luajit_walk *walk, const struct luajit_frame *frame)
{
	struct luajit_cframe cframe;

	if (walk->of->told.fp != walk->thread ||
	    !luajit_cframe_read(walk->of->sample, walk->of->sp, walk->cframe, &cframe))
		return SCRIPT_TORN;
	/* What was noted is where the trace began, and not where it is left. */
	walk->pc = walk->of->told.pc == (uint64_t)walk->fields->left ? 0 : cframe.pc;
	return take_frame(walk, frame);
}

static bool is_in_loop(const struct luajit_walk *walk, uint64_t pc)
{
	return pc >= (uint64_t)walk->loop->from && pc < (uint64_t)walk->loop->to;
}

/* Of a trace, only the frame is known with which it began: what it has inlined is not there. */
static enum script_outcome take_innermost(struct luajit_walk *walk, uint64_t jit_base,
					  const struct luajit_frame *frame)
{
	const struct script_thread *of = walk->of;
	bool is_running =
		of->told.sp == of->sp &&
		of->told.pc == arch_sampled(of->arch, of->sample->registers.data, of->arch->pc);

	if (jit_base)
		return jit_base == frame->base && (is_running || !is_in_loop(walk, of->told.pc))
			       ? take_frame(walk, frame)
			       : SCRIPT_TORN;
	if (!is_in_loop(walk, of->told.pc))
		return SCRIPT_TORN;
	return is_running ? take_executed(walk, frame) : take_calling(walk, frame);
}

/* A thread's last frame is the thread itself. It has no other frames in C. */
static enum script_outcome take_bottom(struct luajit_walk *walk)
{
	struct luajit_cframe cframe;

	for (size_t i = 0; walk->cframe && i < CFRAMES_MAX; i++)
		if (!leave_cframe(walk, &cframe) || cframe.n_results >= 0)
			return SCRIPT_TORN;
	return walk->n || walk->cframe ? SCRIPT_TORN : SCRIPT_WHOLE;
}

/* Reads the frames of a thread, from `first` on. */
static enum script_outcome take_frames(struct luajit_walk *walk, size_t first)
{
	for (size_t i = first; i + 1 < walk->frames.n; i++) {
		struct luajit_frame frame;
		enum script_outcome outcome = read_frame(walk, i, &frame);

		if (outcome == SCRIPT_WHOLE)
			outcome = take_frame(walk, &frame);
		if (outcome != SCRIPT_WHOLE)
			return outcome;
	}
	return take_bottom(walk);
}

/* Finds the end of a list, which must be that of the thread's stack. */
static enum script_outcome begin_thread(struct luajit_walk *walk, const struct walk_list_view *list)
{
	struct luajit_frame bottom;

	walk->frames = *list;
	walk->pc = walk->n = walk->is_called = 0;
	if (!list->n || !fits(walk) || walk->stack->n + list->n > SCRIPT_FRAMES_MAX)
		return SCRIPT_DAMAGED;
	if (list->end == WIRE_walk_end_LIMIT)
		return SCRIPT_LIMIT;
	if (list->end != WIRE_walk_end_END || read_frame(walk, list->n - 1, &bottom))
		return SCRIPT_TORN;
	walk->thread = bottom.function;
	walk->thread_stack = bottom.base - 2 * WORD;
	return SCRIPT_WHOLE;
}

static enum script_outcome take_current(struct luajit_walk *walk,
					const struct walk_list_view lists[WALK_LISTS_MAX])
{
	enum script_outcome outcome = begin_thread(walk, &lists[0]);
	struct luajit_thread thread;
	struct luajit_frame frame;

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!luajit_thread_read(walk->fields, lists, &thread) || thread.address != walk->thread ||
	    thread.stack != walk->thread_stack || lists[0].n < 2)
		return SCRIPT_TORN;
	walk->cframe = thread.cframe;
	outcome = read_frame(walk, 0, &frame);
	if (outcome == SCRIPT_WHOLE)
		outcome = take_innermost(walk, thread.jit_base, &frame);
	return outcome == SCRIPT_WHOLE ? take_frames(walk, 1) : outcome;
}

/* The frames of the thread whose frame in C is next; false: none of the lists has them. */
static bool take_resumer(struct luajit_walk *walk,
			 const struct walk_list_view lists[WALK_LISTS_MAX])
{
	struct script_stack *stack = walk->stack;
	size_t n = stack->n, n_segments = stack->n_segments;
	struct luajit_cframe cframe;

	if (!luajit_cframe_read(walk->of->sample, walk->of->sp, walk->cframe, &cframe))
		return false;
	for (size_t i = OTHER_THREADS; i < WALK_LISTS_MAX; i++) {
		if (begin_thread(walk, &lists[i]) != SCRIPT_WHOLE || walk->thread != cframe.thread)
			continue;
		if (take_frames(walk, 0) == SCRIPT_WHOLE)
			return true;
		break;
	}
	stack->n = n;
	stack->n_segments = n_segments;
	return false;
}

/* Whether the interpreter has resumed the thread: then the frame of another one is further out. */
static bool is_resumed(const struct luajit_walk *walk)
{
	const struct script_thread *of = walk->of;
	uint64_t pc;

	return stack_read_word(&of->sample->stack, of->sp,
			       walk->last_cframe + walk->fields->cframe_size - WORD, &pc) &&
	       is_in_loop(walk, pc);
}

/* The frames of all threads that have resumed each other; false: some are not known. */
static bool take_resumers(struct luajit_walk *walk,
			  const struct walk_list_view lists[WALK_LISTS_MAX])
{
	for (size_t i = OTHER_THREADS; walk->last_cframe && is_resumed(walk); i++) {
		walk->cframe = walk->last_cframe + walk->fields->cframe_size;
		walk->last_cframe = 0;
		if (i == WALK_LISTS_MAX || !take_resumer(walk, lists))
			return false;
	}
	return true;
}

static enum script_outcome read_walk(struct luajit_walk *walk)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	enum script_outcome outcome = walk_view_read_whole(walk->of->sample, lists);

	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!walk->of->told.sp)
		return SCRIPT_NO_FRAMES;
	outcome = take_current(walk, lists);
	if (outcome != SCRIPT_WHOLE)
		return outcome;
	if (!take_resumers(walk, lists))
		return SCRIPT_PARTLY;
	return walk->stack->n_segments ? SCRIPT_WHOLE : SCRIPT_NO_FRAMES;
}

enum script_outcome luajit_walk_read(const struct runtime_fields *fields,
				     const struct code_table *codes,
				     const struct script_thread *thread, struct script_stack *ret)
{
	struct luajit_walk walk = {
		.fields = &fields->luajit,
		.loop = &fields->loop,
		.codes = codes,
		.of = thread,
		.stack = ret,
	};

	script_stack_begin(ret, SCRIPT_ANCHOR_STACK);
	return script_stack_end(ret, read_walk(&walk));
}
