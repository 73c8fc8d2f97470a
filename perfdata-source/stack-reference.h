/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Most of a perf.data file are stacks, of which an unwinder reads a few words each. Through a pipe
 * they would be copied twice to be thrown away, so there samples tell where in the file their stack
 * lies, and the file is an image of the stream that the unwinder opens for itself.
 *
 * That is done only where it can: the file is our own, so that nobody changes it meanwhile, and a
 * stage in its sandbox may read it. What goes into a file has its stacks with it.
 */
#pragma once

#include "common/source/images.h"
#include "perfdata-source/input.h"
#include "perfdata-source/layout.h"

enum { STACK_REFERENCE_MIN = 1024 }; /* bytes of a stack that it is worth while for */

struct stack_reference {
	char *path;	 /* absolute, of the file; NULL: samples do not refer to it */
	uint64_t image;	 /* that it is for the stream; 0: none */
	const char *map; /* borrowed, of the input */
};

/*
 * Finds out whether samples may refer to a file that was opened by that path, before the sandbox
 * is entered. 0 or -ENOMEM.
 */
int stack_reference_prepare(struct stack_reference *reference, const struct input *input,
			    const char *path);
void stack_reference_deinit(struct stack_reference *reference);

/* Tells of the file, if samples may refer to it. 0 or -errno of the output. */
int stack_reference_begin(struct stack_reference *reference, const struct input *input,
			  struct images *images);

/* Tells where the stack of a sample in the file lies; false: it has to go along itself. */
bool stack_reference_fill(const struct stack_reference *reference,
			  const struct parsed_sample *sample, struct wire_sample *ret);
