/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: tables compiled from hand-made sources, and checks of their rules. */
#pragma once

#include "common/base/cleanup.h"
#include "common/elf/test-cfi-made.h"
#include "common/unwind/unwind-table.h"

#define _cleanup_table_ _cleanup_(unwind_table_deinit)
#define _cleanup_files_ _cleanup_(file_deinit)

#define EH CFI_EH_FRAME
#define DEBUG CFI_DEBUG_FRAME

enum {
	RSP = 7,
	NONE = -1,	/* no rule */
	FALLBACK = -2,	/* UNWIND_CFA_FALLBACK */
	CODE = 1 << 20, /* size of the first segment */
};

/* Sources of a table. Code is at address = offset unless set otherwise. */
struct file {
	struct made sections[2]; /* .eh_frame, .debug_frame */
	struct unwind_segment segments[2];
	size_t n_segments;
	struct plt_code plts[2];
	size_t n_plts;
	struct unwind_code code; /* from offset 0 on; all zero: no code */
};

static inline void file_deinit(struct file *file)
{
	made_deinit(&file->sections[EH]);
	made_deinit(&file->sections[DEBUG]);
}

static inline struct file file_new(void)
{
	struct file file = {
		.sections = { { .kind = CFI_EH_FRAME }, { .kind = CFI_DEBUG_FRAME } },
		.segments = { { .offset = 0, .size = CODE, .address = 0 } },
		.n_segments = 1,
	};

	for (int i = EH; i <= DEBUG; i++) /* CIEs are at offset 0 */
		put_common(&file.sections[i],
			   &(struct made_common){ .augmentation = "",
						  PROGRAM(0x0c, RSP, 8, 0x90, 1) });
	return file;
}

static inline void put_program(struct file *file, enum cfi_kind kind, uint64_t start, uint64_t end,
			       const void *program, size_t size)
{
	put_description(&file->sections[kind], &(struct made_description){ .start = start,
									   .length = end - start,
									   .program = program,
									   .size = size });
}

/* Adds code whose CFA is rsp + `mark` (< 128), which identifies it. */
static inline void put_code(struct file *file, enum cfi_kind kind, uint64_t start, uint64_t end,
			    uint8_t mark)
{
	const uint8_t program[] = { DW_CFA_def_cfa_offset, mark };

	put_program(file, kind, start, end, program, sizeof(program));
}

/* Each page begins with a row, and rows of a page have different offsets. */
static inline void assert_in_order(const struct unwind_table *table)
{
	for (uint32_t page = 0; page < table->header->n_pages; page++) {
		uint32_t first = table->pages[page];

		assert_true(first < table->pages[page + 1]);
		assert_int_equal(table->lows[first], 0);
		for (uint32_t row = first + 1; row < table->pages[page + 1]; row++)
			assert_true(table->lows[row] > table->lows[row - 1]);
	}
}

static inline struct unwind_table compile(const struct file *file)
{
	const struct cfi_section sections[] = { made_section(&file->sections[EH]),
						made_section(&file->sections[DEBUG]) };
	struct unwind_code code = file->code;
	const struct unwind_source source = {
		.arch = &unwind_x86_64,
		.code = code.size ? &code : NULL,
		.segments = file->segments,
		.n_segments = file->n_segments,
		.sections = sections,
		.n_sections = 2,
		.plts = file->plts,
		.n_plts = file->n_plts,
	};
	struct unwind_table table;

	assert_int_equal(unwind_table_compile(&source, &table), 0);
	assert_in_order(&table);
	return table;
}

static inline int mark_at(const struct unwind_table *table, uint64_t offset)
{
	const struct unwind_rule *rule = unwind_table_find(table, offset);

	if (!rule)
		return NONE;
	return rule->cfa == UNWIND_CFA_SP ? rule->cfa_offset : FALLBACK;
}

/* Checks both ends of [from, to) and samples in between for a mark. */
static inline void assert_marked(const struct unwind_table *table, uint64_t from, uint64_t to,
				 int mark)
{
	uint64_t stride = (to - from) / 50 + 1;

	for (uint64_t offset = from; offset < to; offset += stride)
		assert_int_equal(mark_at(table, offset), mark);
	assert_int_equal(mark_at(table, to - 1), mark);
}
