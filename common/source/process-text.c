/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connects processes to replaced-text.h: notes text that was replaced by a copy, and emits mappings
 * of the file where the comparison finds it unchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/source/processes-internal.h"

bool processes_is_replaced_text(const struct tracked_process *process,
				const struct image_source *source)
{
	return process->replaced && images_is_anonymous(source) &&
	       replaced_texts_are_same(process->replaced, source->start,
				       source->start + source->length);
}

int processes_keep_replaced(struct tracked_process *process, const struct replaced_texts *texts)
{
	if (!texts || !texts->n || texts == process->replaced) /* the common case */
		return 0;
	process->replaced = malloc(sizeof(*process->replaced));
	if (!process->replaced)
		return -ENOMEM;
	*process->replaced = *texts;
	return 0;
}

int processes_note_replaced(struct processes *processes, struct tracked_process *process,
			    const struct image_source *source, bool is_writable)
{
	uint64_t end = source->start + source->length;
	struct replaced_texts none = { 0 }, *texts = process->replaced ? process->replaced : &none;

	if (!processes->proc.is_mapping)
		return 0;
	if (images_is_anonymous(source))
		replaced_texts_note(texts, processes->images, &process->space->mappings,
				    source->start, end, is_writable);
	else
		replaced_texts_forget(texts, source->start, end);
	return processes_keep_replaced(process, texts);
}

/* Whether any mapping may be in a hole that is not known yet. */
static bool may_have_holes(const struct tracked_process *process, const struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct image_source source = processes_source_of(maps, &maps->list[i]);

		if (images_is_anonymous(&source) && strcmp(source.path, "[vsyscall]") &&
		    !(process->replaced && replaced_texts_know(process->replaced, source.start,
							       source.start + source.length)))
			return true;
	}
	return false;
}

/* Memory without a file may fill the hole of a file's text that was replaced before. */
static int note_holes(struct processes *processes, struct tracked_process *process,
		      const struct proc_maps *maps)
{
	_cleanup_(proc_maps_deinit) struct proc_maps all = { 0 };
	struct replaced_texts none = { 0 }, *texts = process->replaced ? process->replaced : &none;
	struct text_hole hole;
	uint64_t image;
	uint32_t flags;
	int r;

	if (!processes->proc.is_mapping || !may_have_holes(process, maps))
		return 0;
	r = processes->proc.read_maps(&processes->proc, maps->task, MAPS_ALL, &all);
	for (size_t at = 0; r == 0 && text_hole_next(&all, &at, &hole);) {
		const struct image_source file = processes_source_of(&all, &all.list[hole.file]);

		r = images_find(processes->images, &file, &image, &flags);
		if (r == 0)
			replaced_texts_note_hole(texts, processes->images, &hole, image);
	}
	if (r < 0 && r != -ENOMEM)
		r = 0;
	return r < 0 ? r : processes_keep_replaced(process, texts);
}

int processes_compare_text(struct processes *processes, struct tracked_process *process,
			   uint64_t address, uint64_t time)
{
	struct mapping parts[REPLACED_TEXT_PARTS_MAX]; /* equal parts of the file's text */
	int n = process->replaced
			? replaced_texts_compare(process->replaced, &processes->text_comparer,
						 processes->images, process->pid, address, time,
						 parts)
			: 0;
	int r = n < 0 ? n : 0;

	for (int i = 0; i < n && r == 0; i++)
		r = processes_put_new_mapping(processes, process, &parts[i], 0, time);
	if (n > 0)
		*counters_get(&processes->stage->counters, "processes", "replaced-text") += n;
	return r;
}

int processes_add_shown(struct processes *processes, struct tracked_process *process,
			const struct proc_maps *maps, bool only_unknown, uint64_t time)
{
	uint32_t n_before = processes->n_mappings;
	int r = 0;

	for (size_t i = 0; i < maps->n && r == 0; i++) {
		const struct image_source source = processes_source_of(maps, &maps->list[i]);
		const struct mapping *known =
			mapping_table_find(&process->space->mappings, source.start);

		if ((only_unknown && known && known->end >= source.start + source.length) ||
		    processes_is_replaced_text(process, &source))
			continue;
		r = processes_add_mapping(processes, process, &source, time);
	}
	return r < 0 || processes->n_mappings == n_before ? r
							  : note_holes(processes, process, maps);
}
