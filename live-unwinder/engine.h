/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of unwinding engines: a sample in, user frames and an end reason out. All engines
 * give the same answer; which one answered shows only in statistics.
 */
#pragma once

#include <string.h>

#include "common/arch/arch.h"
#include "common/elf/elf-cache.h"
#include "common/stream/process-table.h"
#include "common/wire/wire.h"
#include "live-unwinder/script/made-calls.h"
#include "live-unwinder/walk/stack-word.h"

enum {
	STACK_REACH = 1 << 20, /* bytes: an address this close above sp is in the stack */
	USER_BITS = 56,	       /* of an address, with five-level page tables */
	UNWINDING_MADE_MAX = 64,
};

struct v8_builtins;

/* The user side of one sample, and its answer. */
struct unwinding {
	const struct arch *arch; /* of the machine that was sampled */
	const struct wire_sample *sample;
	struct process *process;
	struct wire_frame *frames; /* innermost first */
	uint64_t *stack_pointers;  /* of each of these frames; NULL: nobody wants them */
	size_t n_frames, n_frames_max;
	enum wire_stack_end end;
	struct wire_words words; /* all that is known of the stack, instead of it; or none */
	bool is_alone;	      /* earlier answers must not help with it: it is compared with one */
	uint32_t stack_asked; /* bytes that the kernel was to copy; 0: not a copy by the kernel */
	struct made_calls calls;	    /* of its code without frame pointers */
	const struct v8_builtins *builtins; /* that an engine has met; NULL: it knows none */
	uint64_t last_fp;		    /* the frame pointer of the last frame; 0: not known */
	const struct image *failed_image;   /* that the end reason is about, or NULL */
	uint32_t made[UNWINDING_MADE_MAX];  /* frames of such code that an interpreter has called */
	uint32_t n_made;
	struct made_caller told; /* the first frame that was left as `calls` tell; 0: none was */
	/*
	 * Number of frames up to and including the first that was left by a step unknown to
	 * elfutils: a frame pointer, or a rule that the file lacks. 0: there is none.
	 */
	size_t n_verifiable;
	bool contradicts_cfi; /* by such a step that contradicts elfutils */
	bool is_unproved;     /* a frame has the flag FRAME_POINTER: such a stack is not complete */
};

/* To be called before a frame is added. */
static inline void unwinding_note_stack_pointer(struct unwinding *unwinding, uint64_t sp)
{
	if (unwinding->stack_pointers)
		unwinding->stack_pointers[unwinding->n_frames] = sp;
}

/* A sampled register, by its DWARF number. */
static inline uint64_t unwinding_register(const struct unwinding *unwinding, uint8_t number)
{
	return arch_sampled(unwinding->arch, unwinding->sample->registers.data, number);
}

/* The end reason of a stack whose last frame is in `image`; 0: an ELF file, so look further. */
enum wire_stack_end unwinding_end_in(struct image *image, struct elf_cache *files);

/* The same for the last frame's image, which becomes `failed_image`. */
enum wire_stack_end unwinding_end_of_image(struct unwinding *unwinding, struct elf_cache *files);

/*
 * The end reason if the word at `address` was not captured: STACK_ABSENT where the kernel copied
 * less than requested, up to a page's end; else TRUNCATED. Of words that the kernel has kept:
 * IMAGE_UNAVAILABLE, as it walked by something else.
 */
enum wire_stack_end unwinding_end_without_word(const struct unwinding *unwinding, uint64_t address);

/*
 * Whether the last frame, with stack pointer `sp`, is a process's first: code at the file's entry
 * point (the dynamic linker's has no unwind information), with a new process's stack pointer.
 */
bool unwinding_is_process_entry(const struct unwinding *unwinding, struct elf_cache *files,
				uint64_t sp);

/* Whether two answers to one sample are equal, frame by frame. */
bool unwinding_is_same(const struct unwinding *a, const struct unwinding *b);

/*
 * Whether elfutils, the reference, confirms an answer: both are equal; or they agree up to the
 * first frame left by a step unknown to elfutils, and elfutils' further frames, if any, agree too
 * (unless the answer contradicts CFI).
 */
bool unwinding_is_confirmed(const struct unwinding *answer, const struct unwinding *reference);

/* Makes the sampled instruction, which is always known, the only frame. */
void unwinding_add_sampled(struct unwinding *unwinding);
