/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Most of a perf.data file is stacks, of which an unwinder reads a few words each. A pipe would
 * copy them twice for nothing, so samples in a pipe refer to their stack's offset in the file,
 * which becomes an image of the stream that the unwinder opens itself.
 *
 * That requires that the file is our own, so that no other user can change it meanwhile, and that a
 * stage in its sandbox may read it. A stream written to a file contains its stacks.
 */
#pragma once

#include "common/source/images.h"
#include "perfdata-source/input.h"
#include "perfdata-source/layout.h"

enum { STACK_REFERENCE_MIN = 1024 }; /* bytes; a smaller stack is not worth a reference */

struct stack_reference {
	char *path;	 /* absolute path of the file; NULL: samples do not refer to it */
	uint64_t image;	 /* image of the file in the stream; 0: none */
	const char *map; /* of the input, borrowed */
};

/*
 * Checks whether samples may refer to the file that was opened by `path`; call before the sandbox
 * is entered. 0 or -ENOMEM.
 */
int stack_reference_prepare(struct stack_reference *reference, const struct input *input,
			    const char *path);
void stack_reference_deinit(struct stack_reference *reference);

/* Emits the file's image, if samples may refer to it. 0 or -errno of the output. */
int stack_reference_begin(struct stack_reference *reference, const struct input *input,
			  struct images *images);

/* Refers `ret` to the sample's stack in the file; false: the stack itself must be emitted. */
bool stack_reference_fill(const struct stack_reference *reference,
			  const struct parsed_sample *sample, struct wire_sample *ret);
