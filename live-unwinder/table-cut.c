/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/table-cut.h"

static void cut_at(struct unwinding *unwinding, size_t frame, enum wire_stack_end end,
		   const struct image *failed_image)
{
	unwinding->n_frames = frame + 1;
	unwinding->end = end;
	unwinding->failed_image = failed_image;
}

/* false: nothing was cut. */
static bool cut_where_tables_know_better(struct rule_cache *cache, struct unwinding *unwinding,
					 size_t i, uint64_t place, const struct image *image)
{
	const struct stored_table *entry = rule_cache_table(cache, image->number);
	const struct unwind_rule *rule = entry ? rule_cache_find(cache, entry, place) : NULL;
	bool is_exact = unwinding->frames[i].flags & WIRE_frame_flags_EXACT;

	if (!rule)
		return false;
	if (i && !is_exact && rule_cache_lacks_call(cache, entry, place, rule))
		cut_at(unwinding, i - 1, WIRE_stack_end_BAD_UNWIND_INFO, NULL);
	else if (rule->flags & (UNWIND_FLAG_USER_RULE | UNWIND_FLAG_CONTRADICTS) ||
		 rule->cfa == UNWIND_CFA_LOST)
		cut_at(unwinding, i, WIRE_stack_end_BAD_UNWIND_INFO, image);
	else
		return false;
	return true;
}

/* Cuts the stack at frame `i` if it is not to be trusted; false: nothing was cut. */
static bool cut_frame(struct rule_cache *cache, struct elf_cache *files,
		      struct unwinding *unwinding, size_t i)
{
	struct wire_frame *frame = &unwinding->frames[i];
	uint64_t code = frame_code(frame);
	const struct mapping *mapping =
		mapping_table_find(process_mappings(unwinding->process), code);
	struct image *image = mapping ? image_table_find(files->table, mapping->image) : NULL;

	if (!image)
		return false;
	if (!table_store_is_too_new(elf_cache_not_before(files, image), unwinding->sample->time))
		return cut_where_tables_know_better(cache, unwinding, i,
						    code - mapping->start + mapping->offset, image);
	frame->mapping = 0;
	cut_at(unwinding, i, WIRE_stack_end_IMAGE_UNAVAILABLE, image);
	return true;
}

void table_cut(struct rule_cache *cache, struct elf_cache *files, struct unwinding *unwinding)
{
	for (size_t i = 0; i < unwinding->n_frames; i++)
		if (cut_frame(cache, files, unwinding, i))
			return;
}
