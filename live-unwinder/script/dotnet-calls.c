/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "live-unwinder/script/dotnet-calls.h"
#include "live-unwinder/script/dotnet-file.h"

enum {
	WORD = 8,
	FILE_TRIES_MAX = 8, /* while nobody has opened it yet */
};

struct dotnet_calls dotnet_calls_of(const struct made_code_context *context,
				    const struct wire_sample *sample, uint64_t sp)
{
	struct walk_list_view lists[WALK_LISTS_MAX] = { 0 };
	struct dotnet_calls calls = {
		.context = *context,
		.sample = sample,
		.stack_start = sp,
	};

	if (walk_view_read(sample, lists) != SCRIPT_WHOLE ||
	    lists[0].window != sizeof(struct walk_return))
		return calls;
	calls.returns = lists[0];
	if (lists[2].window == WALK_CODE_WINDOW)
		calls.executed = lists[2];
	return calls;
}

/*
 * Finds what a frame's code is, from `next` on: the first element is what is executed, and each
 * other one lies where the call of a frame has put it. False: it is no managed code.
 */
static bool find_element(struct dotnet_calls *calls, uint64_t pc, uint64_t sp,
			 struct walk_element *ret, struct walk_return *ret_window)
{
	for (; calls->next < calls->returns.n; calls->next++) {
		uint64_t of;

		*ret_window = walk_view_return(&calls->returns, calls->next, ret);
		of = calls->next ? ret->address + WORD : ret->address;
		if (calls->next && of > sp)
			return false;
		if (of == sp && ret_window->pc == pc)
			return true;
	}
	return false;
}

bool dotnet_calls_have(struct dotnet_calls *calls, uint64_t pc, uint64_t sp)
{
	struct walk_element element;
	struct walk_return window;

	return calls->context.codes && find_element(calls, pc, sp, &element, &window) &&
	       window.object;
}

bool dotnet_calls_have_stub(const struct dotnet_calls *calls, uint64_t sp)
{
	struct walk_element element;
	struct walk_return window;

	if (calls->next || calls->returns.n < 2)
		return false;
	window = walk_view_return(&calls->returns, 1, &element);
	return element.address == sp && window.object;
}

static bool leave_stub(const struct dotnet_calls *calls, const struct made_caller *frame,
		       struct made_caller *ret)
{
	struct walk_element element;
	struct walk_return window;

	if (!dotnet_calls_have_stub(calls, frame->sp))
		return false;
	window = walk_view_return(&calls->returns, 1, &element);
	*ret = (struct made_caller){ window.pc, frame->sp + WORD, frame->fp };
	return window.pc;
}

/* The bytes of what is executed, from its instruction on. */
static struct dotnet_bytes bytes_of(const struct dotnet_calls *calls, uint64_t pc,
				    uint8_t to[2 * WALK_CODE_WINDOW])
{
	struct dotnet_bytes bytes = { to, 0 };
	struct walk_element element;

	for (size_t i = 0; i < calls->executed.n; i++) {
		const char *window = walk_view_element(&calls->executed, i, &element);

		if (element.address != pc + bytes.n || bytes.n == 2 * WALK_CODE_WINDOW)
			continue;
		memcpy(to + bytes.n, window, WALK_CODE_WINDOW);
		bytes.n += WALK_CODE_WINDOW;
	}
	return bytes;
}

/* What the stream, or its file, says of code. False: nothing. */
static bool find_code(struct dotnet_calls *calls, uint64_t begin, uint64_t identity,
		      struct dotnet_code *ret)
{
	const struct made_code_context *context = &calls->context;
	struct script_code_view view;
	struct wire_blob kept;

	if (code_table_find(context->codes, calls->sample->process, begin, identity, &view) !=
		    CODE_IS_KNOWN ||
	    !code_table_find_bytes(context->codes, view.number, &kept) || kept.size != sizeof(*ret))
		return false;
	memcpy(ret, kept.data, sizeof(*ret));
	if (dotnet_code_is_described(ret))
		return true;
	/* The code of one that is made as the program runs may be another one by now. */
	if ((ret->method_flags & DOTNET_METHOD_KINDS) == DOTNET_METHOD_DYNAMIC)
		return false;
	if (ret->n_tries >= FILE_TRIES_MAX)
		return false;
	ret->n_tries = dotnet_file_read(context->files, context->process, begin, ret) ==
				       DOTNET_FILE_E_UNAVAILABLE
			       ? FILE_TRIES_MAX
			       : ret->n_tries + 1;
	code_table_amend(context->codes, view.number, ret, sizeof(*ret));
	return dotnet_code_is_described(ret);
}

bool dotnet_calls_find(struct dotnet_calls *calls, const struct made_caller *frame,
		       struct made_caller *ret)
{
	uint8_t code_bytes[2 * WALK_CODE_WINDOW];
	struct dotnet_bytes executed;
	struct walk_element element;
	struct walk_return window;
	struct dotnet_code code;
	struct dotnet_frame at;

	if (!find_element(calls, frame->pc, frame->sp, &element, &window))
		return false;
	if (!window.object)
		return leave_stub(calls, frame, ret);
	if (!find_code(calls, window.object, element.identity, &code))
		return false;
	executed = bytes_of(calls, frame->pc, code_bytes);
	at = (struct dotnet_frame){
		.code = &code,
		.begin = window.object,
		.at = *frame,
		.executed = calls->next ? NULL : &executed,
		.stack = &calls->sample->stack,
		.stack_start = calls->stack_start,
	};
	return dotnet_frame_leave(&at, ret);
}
