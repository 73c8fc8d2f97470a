/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwind rules that a user gives for code whose unwind information is missing or wrong. They come
 * from a text file, one rule a line (docs/stackpipe-unwind-rules.5.scd has all of it), and name an
 *image by what is in it:
 *
 *	build-id:0123abcd 0x1000-0x1080 fp			# comment
 *	file-id:00112233445566778899aabbccddeeff 0x2000-0x2010 cfa=rsp+16 ra=cfa-8 rbp=cfa-16
 *	build-id:0123abcd 0x3000-0x3004 end
 *	build-id:0123abcd 0x4000-0x4010 cfa=*(rsp+160) ra=*(rsp+168) signal
 *
 * Addresses are as linked, the end is not among them. A file with a line that is not understood is
 * refused as a whole, since what is left of it would be believed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/elf/elf-image.h"
#include "common/stream/file-id.h"
#include "common/unwind/unwind-arch.h"

enum {
	USER_RULES_SIZE_MAX = 64 << 20, /* bytes of a file */
	USER_RULES_MAX = 1 << 20,	/* in a file */
};

enum user_rules_outcome {
	USER_RULES_OK = 0,
	USER_RULES_E_LINE,     /* a line is not understood */
	USER_RULES_E_OVERLAP,  /* two lines are about the same code */
	USER_RULES_E_TOO_MANY, /* more than USER_RULES_MAX */
	USER_RULES_E_SIZE,     /* the file is larger than USER_RULES_SIZE_MAX */
};

/* Set with each positive outcome. */
struct user_rules_error {
	size_t line;	   /* from 1 on; 0: the file as a whole */
	size_t other_line; /* the earlier one that it contradicts; 0: none */
	const char *text;  /* what is wrong, to follow "FILE:LINE: " */
};

enum user_rule_key {
	USER_RULE_BUILD_ID = 1,
	USER_RULE_FILE_ID,
};

struct user_rule {
	const uint8_t *id;   /* points into the text */
	uint64_t start, end; /* as linked */
	struct unwind_rule rule;
	uint32_t line;
	uint8_t id_size;
	uint8_t key; /* enum user_rule_key */
};

struct user_rules {
	char *text;		/* of the file; ids have taken the place of their digits */
	struct user_rule *list; /* by key, id and start; those of one image do not overlap */
	size_t n;
};

/*
 * Reads a file, for an architecture. 0, -errno, or a positive outcome (enum
 * user_rules_outcome) with what is wrong in `error`; `ret` is filled in on success alone.
 */
int user_rules_read(const struct unwind_arch *arch, const char *path, struct user_rules *ret,
		    struct user_rules_error *error);

/* The same of a text in memory. The text is taken over, come what may. */
int user_rules_parse(const struct unwind_arch *arch, char *text, size_t size,
		     struct user_rules *ret, struct user_rules_error *error);

/* Harmless of what is all zero. */
void user_rules_deinit(struct user_rules *user_rules);

/* What is said about a part of an image's file: [start, end) are offsets in it. */
struct image_user_rule {
	uint64_t start, end;
	struct unwind_rule rule;
};

/* Of one image; needs neither all rules nor the file that it was made of. */
struct image_user_rules {
	struct image_user_rule *list; /* sorted, without overlaps */
	size_t n;		      /* 0: there are none, and no list */
};

/*
 * The rules of an image: those of its build-id (NULL or of size 0: it has none), and where
 * they say nothing those of its file id (16 bytes; NULL: not known). An address that no segment
 * holds is left out. 0 or -ENOMEM.
 */
int user_rules_of_image(const struct user_rules *user_rules, const struct elf_image *file,
			const void *build_id, size_t build_id_size, const uint8_t *file_id,
			struct image_user_rules *ret);
void image_user_rules_deinit(struct image_user_rules *user_rules);

/* The rule at an offset in the file; NULL: none. Valid as long as `user_rules` is. */
const struct unwind_rule *image_user_rules_find(const struct image_user_rules *user_rules,
						uint64_t offset);
