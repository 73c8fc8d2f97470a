/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an unwinding engine does: a sample in, user frames and the reason of their end out. The
 * engines answer alike; which one did is a matter of statistics only.
 */
#pragma once

#include <string.h>

#include "common/arch/arch.h"
#include "common/elf/elf-cache.h"
#include "common/stream/process-table.h"
#include "common/wire/wire.h"

enum {
	STACK_REACH = 1 << 20, /* bytes: what is so near above a stack pointer is the stack */
	USER_BITS = 56,	       /* of an address, with five-level page tables */
};

/* The user side of one sample, and room for its answer. */
struct unwinding {
	const struct arch *arch; /* of the sample's machine */
	const struct wire_sample *sample;
	struct process *process;
	struct wire_frame *frames; /* innermost first */
	size_t n_frames, n_frames_max;
	enum wire_stack_end end;
	uint32_t
		stack_asked; /* bytes of the stack that the kernel was to copy; 0: not the kernel */
	const struct image *failed_image; /* that the end is about, or NULL */
	/*
	 * Up to and with the first frame that was left in a way that elfutils does not know: by a
	 * frame pointer, or a rule that the file does not have. 0: there is none.
	 */
	size_t n_verifiable;
	bool contradicts_cfi; /* in one of those ways that contradict elfutils */
	bool is_unproved;     /* a frame has the flag FRAME_POINTER: such a stack is not complete */
};

/* A register of the sample. */
static inline uint64_t unwinding_register(const struct unwinding *unwinding, uint8_t number)
{
	return arch_sampled(unwinding->arch, unwinding->sample->registers.data, number);
}

/* A word of a stack whose bytes from `start` on were captured; false: it is not among them. */
static inline bool stack_read_word(const struct wire_blob *stack, uint64_t start, uint64_t address,
				   uint64_t *ret)
{
	uint64_t offset = address - start;

	if (stack->size < sizeof(*ret) || offset > stack->size - sizeof(*ret))
		return false;
	memcpy(ret, (const char *)stack->data + offset, sizeof(*ret));
	return true;
}

/* How a stack ends whose last frame is in `image`; 0: it is an ELF file, which says more. */
enum wire_stack_end unwinding_end_in(struct image *image, struct elf_cache *files);

/* The same of the last frame's image, which is noted as `failed_image`. */
enum wire_stack_end unwinding_end_of_image(struct unwinding *unwinding, struct elf_cache *files);

/*
 * How a stack ends for which the word at `address` was not captured: STACK_ABSENT where the kernel
 * has copied less than it was asked for, up to the end of a page; else TRUNCATED.
 */
enum wire_stack_end unwinding_end_without_word(const struct unwinding *unwinding, uint64_t address);

/*
 * Whether the last frame, whose stack pointer is `sp`, is where the kernel has started the process:
 * code at the file's entry point (the dynamic linker's has no unwind information), with the stack
 * pointer of a new process.
 */
bool unwinding_is_process_entry(const struct unwinding *unwinding, struct elf_cache *files,
				uint64_t sp);

/* Whether two answers to one sample are the same, frame for frame. */
bool unwinding_is_same(const struct unwinding *a, const struct unwinding *b);

/*
 * Whether elfutils, the judge, confirms an answer: it says the same; or it says the same up to
 * where the answer has other sources, and from there on less (unless it is overruled).
 */
bool unwinding_is_confirmed(const struct unwinding *answer, const struct unwinding *reference);

/* Makes the sampled instruction, which is known even where nothing else is, the only frame. */
void unwinding_add_sampled(struct unwinding *unwinding);
