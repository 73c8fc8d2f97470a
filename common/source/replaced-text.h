/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that was replaced by a copy of itself: programs move their code to huge pages, by mapping
 * anonymous memory over the file's, at its own address. The kernel then tells of memory without a
 * file, as that of a JIT compiler. Where the bytes are the file's still, the file's unwind
 * information and names hold; that is looked at when it is sampled, page by page, and only while it
 * cannot be written to. What was replaced before anybody looked is known by the hole that it fills.
 *
 * What is read is the target's: nothing but whether it is the same comes of it. A page of it may be
 * of a file system that never answers, or in the hands of userfaultfd(2), so a thread reads. If it
 * has to wait for ever, no more text is compared: it stays memory without a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/source/images.h"
#include "common/stream/mapping-table.h"
#include "common/source/text-hole.h"

enum {
	REPLACED_TEXTS_MAX = 32, /* of a process; further ones stay memory without a file */
	REPLACED_TEXT_LOOKS_MAX = 6,
	REPLACED_TEXT_SIZE_MAX = 512 << 20, /* bytes that are compared at once */
	REPLACED_TEXT_PARTS_MAX = 64, /* that are the same; further ones are left as they are */
};
#define REPLACED_TEXT_AGAIN_NS 50000000ULL /* the second look, and twice as long each time */

struct replaced_text {
	struct mapping file;   /* what was there before; its number means nothing */
	struct text_hole hole; /* without neighbours: the file's offset is known */
	bool is_writable;      /* what is there now */
	bool is_same;	       /* a part of it, at least */
	uint32_t n_looks;
	uint64_t look_at; /* the time of the next */
	uint64_t job;	  /* that compares it; 0: none does */
};

struct replaced_texts {
	struct replaced_text list[REPLACED_TEXTS_MAX];
	size_t n;
};

/* Something else was mapped from `start` up to `end`: what lay there is replaced no more. */
void replaced_texts_forget(struct replaced_texts *texts, uint64_t start, uint64_t end);

/*
 * Anonymous memory was mapped there, or has other rights by now. `mappings` are those of before, of
 * which files' are remembered.
 */
void replaced_texts_note(struct replaced_texts *texts, const struct images *images,
			 const struct mapping_table *mappings, uint64_t start, uint64_t end,
			 bool is_writable);

/* Memory without a file is where an image's text belongs. What is known already stays. */
void replaced_texts_note_hole(struct replaced_texts *texts, const struct images *images,
			      const struct text_hole *hole, uint64_t image);

/* Whether anything of it is to be compared, or was. */
bool replaced_texts_know(const struct replaced_texts *texts, uint64_t start, uint64_t end);

/* Whether what is there is known to be a file's text, as far as it is. */
bool replaced_texts_are_same(const struct replaced_texts *texts, uint64_t start, uint64_t end);

/* The thread, and what it compares: begun when it is first needed, it ends with the process. */
struct text_comparer;

/*
 * Has what holds an address compared with its file if it is time to, and takes what has come of it
 * before. The parts that are the same are put to `ret`: how many, or -ENOMEM.
 */
int replaced_texts_compare(struct replaced_texts *texts, struct text_comparer **comparer,
			   const struct images *images, uint32_t pid, uint64_t address,
			   uint64_t time, struct mapping ret[REPLACED_TEXT_PARTS_MAX]);
