/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that was replaced by a copy of itself: programs move their code to huge pages by mapping
 * anonymous memory over the file's, at the same address. The kernel reports memory without a file,
 * as for a JIT compiler, but where the bytes still equal the file's, its unwind information and
 * names apply. Such memory is compared page by page when it is sampled, and only while it is not
 * writable. Text replaced before the recording is found by its hole (text-hole.h).
 *
 * Only the result of the comparison leaves this file. A page of the process may belong to a file
 * system that never answers, or to userfaultfd(2), so a thread reads. If it blocks for ever, no
 * more text is compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/source/images.h"
#include "common/source/text-hole.h"
#include "common/stream/mapping-table.h"

enum {
	REPLACED_TEXTS_MAX = 32, /* per process; further ones stay memory without a file */
	REPLACED_TEXT_LOOKS_MAX = 6,
	REPLACED_TEXT_SIZE_MAX = 512 << 20, /* bytes compared at once */
	REPLACED_TEXT_PARTS_MAX = 64,	    /* parts that are equal; further ones are ignored */
};
#define REPLACED_TEXT_AGAIN_NS 50000000ULL /* until the second look; doubles each time */

struct replaced_text {
	struct mapping file;   /* what was mapped there before; `number` is unused */
	struct text_hole hole; /* without neighbours if the file's offset is known */
	bool is_writable;      /* whether the memory is writable now */
	bool is_same;	       /* whether a part of it, at least, equals the file */
	uint32_t n_looks;
	uint64_t look_at; /* time of the next look */
	uint64_t job;	  /* the comparison, until its result is taken; 0: none */
};

struct replaced_texts {
	struct replaced_text list[REPLACED_TEXTS_MAX];
	size_t n;
};

/* Something was mapped from `start` to `end`: forgets the texts that overlap. */
void replaced_texts_forget(struct replaced_texts *texts, uint64_t start, uint64_t end);

/*
 * Anonymous memory was mapped there, or its protection changed. `mappings` are those before; parts
 * of files in them are remembered.
 */
void replaced_texts_note(struct replaced_texts *texts, const struct images *images,
			 const struct mapping_table *mappings, uint64_t start, uint64_t end,
			 bool is_writable);

/* Memory without a file is where an image's text belongs. Known texts stay. */
void replaced_texts_note_hole(struct replaced_texts *texts, const struct images *images,
			      const struct text_hole *hole, uint64_t image);

/* Whether any text there is recorded, to be compared or compared already. */
bool replaced_texts_know(const struct replaced_texts *texts, uint64_t start, uint64_t end);

/* Whether any text there is known to equal the file's. */
bool replaced_texts_are_same(const struct replaced_texts *texts, uint64_t start, uint64_t end);

/* The comparing thread and its job. Started when first needed; it ends with the process. */
struct text_comparer;

/*
 * Has the text at an address compared with its file if that is due, and collects earlier results.
 * Puts the parts that are equal into `ret`, and returns their number or -ENOMEM.
 */
int replaced_texts_compare(struct replaced_texts *texts, struct text_comparer **comparer,
			   const struct images *images, uint32_t pid, uint64_t address,
			   uint64_t time, struct mapping ret[REPLACED_TEXT_PARTS_MAX]);
