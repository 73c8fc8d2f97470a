/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "perf-source/unwind/table-slots.h"

/* The vDSO as a file that a helper can read; -1: there is none. */
static int copy_vdso(void)
{
	const struct wire_blob vdso = images_vdso();
	int fd = memfd_create("stackpipe-vdso", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, vdso.data, vdso.size) == (ssize_t)vdso.size)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int table_slots_init(struct table_slots *slots, struct unwind_program *program,
		     struct images *images, struct table_cache cache)
{
	*slots = (struct table_slots){
		.program = program,
		.images = images,
		.list = calloc(UNWIND_IMAGES_MAX, sizeof(*slots->list)),
		.n = TABLE_SLOT_NONE + 1,
		.vdso = copy_vdso(),
		.cache = cache,
	};
	pair_map_init(&slots->by_image, UNWIND_IMAGES_MAX);
	return slots->list ? 0 : -ENOMEM;
}

void table_slots_deinit(struct table_slots *slots)
{
	table_maker_end(&slots->maker);
	pair_map_deinit(&slots->by_image);
	if (slots->vdso >= 0)
		close(slots->vdso);
	table_cache_close(&slots->cache);
	free(slots->list);
}

/* A slot that was never used, or else one that is free. */
static uint32_t find_free(struct table_slots *slots)
{
	if (slots->n < UNWIND_IMAGES_MAX)
		return slots->n++;
	for (uint32_t i = TABLE_SLOT_NONE + 1; i < UNWIND_IMAGES_MAX; i++)
		if (!slots->list[i].image)
			return i;
	return TABLE_SLOT_NONE;
}

static bool may_have_table(const struct table_slots *slots, uint64_t image)
{
	return image == IMAGE_VDSO ? slots->vdso >= 0 : images_is_file(slots->images, image);
}

/* -EAGAIN: it comes soon; others: there is none. */
static int descriptor_of(const struct table_slots *slots, uint64_t image)
{
	return image == IMAGE_VDSO ? slots->vdso : images_descriptor(slots->images, image);
}

uint32_t table_slots_find(struct table_slots *slots, uint64_t image)
{
	uint64_t *known = pair_map_find(&slots->by_image, image, 0);
	uint32_t slot;

	if (known)
		return *known;
	if (!may_have_table(slots, image))
		return TABLE_SLOT_NONE;
	slot = find_free(slots);
	if (slot == TABLE_SLOT_NONE || pair_map_add(&slots->by_image, image, 0, slot) < 0) {
		slots->n_refused++;
		return TABLE_SLOT_NONE;
	}
	slots->list[slot] = (struct table_slot){ .image = image };
	return slot;
}

void table_slots_check(struct table_slots *slots, uint64_t image)
{
	const uint64_t *known = pair_map_find(&slots->by_image, image, 0);

	if (known && images_have_changed(slots->images, image)) {
		slots->list[*known].is_tried = true;
		__atomic_store_n(&slots->program->images[*known].is_ready, 0, __ATOMIC_RELEASE);
	}
}

/*
 * Gives a table to the kernel: first its bytes, then their meaning. False: there is none, no room,
 * or the file has changed, and who knows what the table was made from.
 */
static bool publish(struct table_slots *slots, uint32_t slot, const struct unwind_table *table)
{
	struct unwind_image *image = &slots->program->images[slot];

	if (images_have_changed(slots->images, slots->list[slot].image))
		return false;
	if (!table->header || table->size > TABLE_SLOTS_SIZE_MAX - slots->size ||
	    unwind_program_add_table(slots->program, slot, table->header, table->size) < 0) {
		slots->n_refused += table->header != NULL;
		return false;
	}
	slots->list[slot].size = table->size;
	slots->size += table->size;
	image->first_page = table->header->first_page;
	image->n_pages = table->header->n_pages;
	image->n_rows = table->header->n_rows;
	image->n_rules = table->header->n_rules;
	__atomic_store_n(&image->is_ready, 1, __ATOMIC_RELEASE);
	return true;
}

static void take_made(struct table_slots *slots)
{
	int r = table_maker_look(&slots->maker);

	if (r == -EAGAIN)
		return;
	for (size_t i = 0; r == 0 && i < slots->maker.n; i++)
		slots->n_made += publish(slots, slots->making[i], &slots->maker.tables[i]);
	table_maker_end(&slots->maker);
}

/* Gives the kernel a table that is kept on disk. False: there is none. */
static bool take_kept(struct table_slots *slots, uint32_t slot, int file)
{
	struct unwind_table table;
	struct kept_file kept;

	if (table_cache_load_of(&slots->cache, file, arch_host()->elf_machine, &table, &kept) < 0)
		return false;
	slots->n_kept += publish(slots, slot, &table);
	kept_file_unmap(&kept);
	return true;
}

/* Lists slots that lack a table, and their files, of which none is kept. */
static size_t list_wanted(struct table_slots *slots, int files[TABLE_MAKER_FILES_MAX])
{
	size_t n = 0;

	for (uint32_t i = TABLE_SLOT_NONE + 1; i < slots->n && n < TABLE_MAKER_FILES_MAX; i++) {
		struct table_slot *slot = &slots->list[i];
		int fd;

		if (!slot->image || slot->is_tried ||
		    !__atomic_load_n(&slots->program->images[i].is_wanted, __ATOMIC_RELAXED))
			continue;
		fd = descriptor_of(slots, slot->image);
		if (fd == -EAGAIN)
			continue;
		slot->is_tried = true;
		if (fd < 0 || take_kept(slots, i, fd))
			continue;
		slots->making[n] = i;
		files[n++] = fd;
	}
	return n;
}

void table_slots_attend(struct table_slots *slots)
{
	int files[TABLE_MAKER_FILES_MAX];
	size_t n;

	if (slots->maker.pid)
		take_made(slots);
	if (slots->maker.pid)
		return;
	n = list_wanted(slots, files);
	if (n && table_maker_begin(&slots->maker, files, n) < 0)
		slots->n_refused += n;
}

int table_slots_helper(const struct table_slots *slots)
{
	return slots->maker.pid ? slots->maker.ended_fd : -1;
}

bool table_slots_are_coming(const struct table_slots *slots)
{
	return slots->maker.pid;
}

static bool is_being_made(const struct table_slots *slots, uint32_t slot)
{
	for (size_t i = 0; slots->maker.pid && i < slots->maker.n; i++)
		if (slots->making[i] == slot)
			return true;
	return false;
}

void table_slots_sweep(struct table_slots *slots)
{
	for (uint32_t i = TABLE_SLOT_NONE + 1; i < slots->n; i++) {
		struct table_slot *slot = &slots->list[i];

		if (!slot->image || may_have_table(slots, slot->image) || is_being_made(slots, i))
			continue;
		slots->program->images[i] = (struct unwind_image){ 0 };
		if (slot->size)
			unwind_program_remove_table(slots->program, i);
		slots->size -= slot->size;
		pair_map_remove(&slots->by_image, slot->image, 0);
		*slot = (struct table_slot){ 0 };
	}
}
