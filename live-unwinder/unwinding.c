/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all engines share: end reasons of images and stacks, and comparing answers. */
#include <string.h>

#include "live-unwinder/engine.h"
#include "live-unwinder/stack-end.h"

enum {
	PAGE = 4096,
	ENTRY_CODE_MAX = 256, /* bytes behind a file's entry point taken for its code */
};

/* The address to look up for the last frame: behind a call another function may begin. */
static uint64_t last_code(const struct unwinding *unwinding)
{
	const struct wire_frame *last = &unwinding->frames[unwinding->n_frames - 1];

	return frame_code(last);
}

enum wire_stack_end unwinding_end_in(struct image *image, struct elf_cache *files)
{
	if (image->kind == WIRE_image_kind_ANONYMOUS || image->kind == WIRE_image_kind_SPECIAL)
		return WIRE_stack_end_NO_UNWIND_INFO;
	if (!elf_cache_get(files, image))
		return elf_cache_has_other_data(image) ? WIRE_stack_end_NO_UNWIND_INFO
						       : WIRE_stack_end_IMAGE_UNAVAILABLE;
	return 0;
}

enum wire_stack_end unwinding_end_of_image(struct unwinding *unwinding, struct elf_cache *files)
{
	const struct mapping *mapping =
		mapping_table_find(process_mappings(unwinding->process), last_code(unwinding));
	struct image *image = mapping ? image_table_find(files->table, mapping->image) : NULL;

	unwinding->failed_image = image;
	return image ? unwinding_end_in(image, files) : WIRE_stack_end_NO_MAPPING;
}

/* Whether a signal interrupted a frame, which may then be on another stack. */
static bool has_signal_frame(const struct unwinding *unwinding)
{
	for (size_t i = 1; i < unwinding->n_frames; i++)
		if (unwinding->frames[i].flags & WIRE_frame_flags_EXACT)
			return true;
	return false;
}

enum wire_stack_end unwinding_end_without_word(const struct unwinding *unwinding, uint64_t address)
{
	const struct wire_sample *sample = unwinding->sample;
	uint64_t end = unwinding_register(unwinding, unwinding->arch->sp) + sample->stack.size;
	bool is_short = sample->stack.size < unwinding->stack_asked;

	if (unwinding->words.n) /* the kernel has walked by another file, or by other mappings */
		return WIRE_stack_end_IMAGE_UNAVAILABLE;
	/* At the beginning of an absent page not even the first word was captured. */
	return is_short && (sample->stack.size == 0 || end % PAGE == 0) &&
			       address + sizeof(address) - 1 - end < STACK_REACH &&
			       !has_signal_frame(unwinding)
		       ? WIRE_stack_end_STACK_ABSENT
		       : WIRE_stack_end_TRUNCATED;
}

bool unwinding_is_process_entry(const struct unwinding *unwinding, struct elf_cache *files,
				uint64_t sp)
{
	uint64_t code = last_code(unwinding), address;
	const struct mapping *mapping =
		mapping_table_find(process_mappings(unwinding->process), code);
	struct image *image = mapping ? image_table_find(files->table, mapping->image) : NULL;
	struct elf_image *file = image ? elf_cache_get(files, image) : NULL;

	return file && file->entry &&
	       elf_image_address(file, code - mapping->start + mapping->offset, &address) &&
	       address >= file->entry && address - file->entry < ENTRY_CODE_MAX &&
	       stack_end_is_initial_stack(&unwinding->sample->stack,
					  unwinding_register(unwinding, unwinding->arch->sp), sp);
}

void unwinding_add_sampled(struct unwinding *unwinding)
{
	uint64_t address = unwinding_register(unwinding, unwinding->arch->pc);
	const struct mapping *mapping = NULL;

	if (unwinding->process)
		mapping = mapping_table_find(process_mappings(unwinding->process), address);
	unwinding->n_frames = 0;
	unwinding_note_stack_pointer(unwinding, unwinding_register(unwinding, unwinding->arch->sp));
	unwinding->frames[0] = (struct wire_frame){
		.address = address,
		.mapping = mapping ? mapping->number : 0,
		.flags = WIRE_frame_flags_EXACT,
	};
	unwinding->n_frames = 1;
}

bool unwinding_is_same(const struct unwinding *a, const struct unwinding *b)
{
	return a->n_frames == b->n_frames && a->end == b->end &&
	       a->failed_image == b->failed_image &&
	       !memcmp(a->frames, b->frames, a->n_frames * sizeof(*a->frames));
}

/* Compares address and mapping only; flags say how the frame was left. */
static bool is_same_place(const struct wire_frame *a, const struct wire_frame *b)
{
	return a->address == b->address && a->mapping == b->mapping;
}

bool unwinding_is_confirmed(const struct unwinding *answer, const struct unwinding *reference)
{
	size_t n = answer->contradicts_cfi ? answer->n_verifiable : reference->n_frames;

	if (unwinding_is_same(answer, reference))
		return true;
	if (!answer->n_verifiable || reference->n_frames < answer->n_verifiable ||
	    n > answer->n_frames)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_same_place(&answer->frames[i], &reference->frames[i]))
			return false;
	return true;
}
