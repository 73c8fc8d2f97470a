/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How managed code of .NET is left: by its UNWIND_INFO, which has the form of Windows on all
 * systems (inc/win64unwind.h in its sources; Microsoft's "x64 exception handling"). That tells what
 * the beginning of a function pushes; where a function ends, its instructions tell.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/script/dotnet-code.h"
#include "common/wire/wire.h"
#include "live-unwinder/walk/script-stack.h"

/* Bytes of code, as they were executed. */
struct dotnet_bytes {
	const uint8_t *bytes;
	size_t n;
};

/* A frame that executes code which begins at an address. */
struct dotnet_frame {
	const struct dotnet_code *code;
	uint64_t begin;
	struct made_caller at;
	/* Of the innermost one, from its instruction on; NULL: a call returns to the frame. */
	const struct dotnet_bytes *executed;
	const struct wire_blob *stack; /* captured from here on: */
	uint64_t stack_start;
};

/* Whether a record has how its code is left: what is not in memory is zero. */
bool dotnet_code_is_described(const struct dotnet_code *code);

/* Finds what has called a frame. False: it is not known. */
bool dotnet_frame_leave(const struct dotnet_frame *frame, struct made_caller *ret);
