/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/script/hotspot-walk.h"
#include "live-unwinder/script/made-calls.h"

struct made_calls made_calls_of(const struct runtime_fields *fields,
				const struct made_code_context *context,
				const struct wire_sample *sample, uint64_t sp)
{
	struct walk_list_view frames;

	if (fields && fields->language == SCRIPT_RUBY && fields->ruby.made_words > 0)
		return (struct made_calls){ .interpreter = fields->loop.from,
					    .words = fields->ruby.made_words };
	/* In the middle of the loop the rule is that of its whole frame. */
	if (fields && fields->language == SCRIPT_PHP)
		return (struct made_calls){
			.interpreter = fields->loop.from / 2 + fields->loop.to / 2,
			.is_in_loop = true,
		};
	if (fields && fields->language == SCRIPT_BEAM) /* it is on another stack (beam-walk.h) */
		return (struct made_calls){ .are_told = true };
	if (fields && fields->language == SCRIPT_LUAJIT)
		return (struct made_calls){
			.are_told = true,
			.luajit = luajit_calls_of(&fields->luajit, &fields->loop, sample, sp),
		};
	if (fields && fields->language == SCRIPT_DOTNET)
		return (struct made_calls){
			.are_told = true,
			.dotnet = dotnet_calls_of(context, sample, sp),
		};
	if (!fields || fields->language != SCRIPT_HOTSPOT)
		return (struct made_calls){ 0 };
	if (hotspot_walk_open(&fields->hotspot, sample, &frames) != SCRIPT_WHOLE)
		return (struct made_calls){ .are_told = true };
	return (struct made_calls){ .are_told = true, .frames = frames };
}

/*
 * What has called C++ has noted where its frame is, but not always where exactly it goes on; nor,
 * if it is the interpreter, with which stack pointer: it may align that first.
 */
static bool is_noted(const struct hotspot_frame *noted, const struct made_caller *frame)
{
	return noted->is_noted &&
	       (noted->sp == frame->sp || (noted->call.kind == WALK_CALL_INTERPRETED && frame->fp &&
					   noted->call.fp == frame->fp));
}

bool made_calls_find(struct made_calls *calls, const struct made_caller *frame,
		     struct made_caller *ret)
{
	if (calls->luajit.cframe_size)
		return luajit_calls_find(&calls->luajit, frame, ret);
	if (calls->dotnet.context.codes)
		return dotnet_calls_find(&calls->dotnet, frame, ret);
	for (size_t i = 0; i < calls->frames.n; i++) {
		struct hotspot_frame found;

		hotspot_frame_read(&calls->frames, i, &found);
		if ((found.sp != frame->sp || found.pc != frame->pc) && !is_noted(&found, frame))
			continue;
		*ret = (struct made_caller){ found.call.next_pc, found.call.next_sp,
					     found.call.next_fp };
		return found.call.next_pc;
	}
	return false;
}
