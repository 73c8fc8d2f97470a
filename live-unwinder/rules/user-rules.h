/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwind rules that a user gives for code whose unwind information is missing or wrong: a text
 * file, one rule a line (docs/stackpipe-unwind-rules.5.scd). An id of its content names an image:
 *
 *	build-id:0123abcd 0x1000-0x1080 fp			# comment
 *	file-id:00112233445566778899aabbccddeeff 0x2000-0x2010 cfa=rsp+16 ra=cfa-8 rbp=cfa-16
 *	build-id:0123abcd 0x3000-0x3004 end
 *	build-id:0123abcd 0x4000-0x4010 cfa=*(rsp+160) ra=*(rsp+168) signal
 *
 * Addresses are as linked; the end is exclusive. One invalid line makes the whole file refused,
 * because the remaining rules would be trusted.
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
	USER_RULES_E_SIZE,     /* larger than USER_RULES_SIZE_MAX */
};

/* Set with every positive outcome. */
struct user_rules_error {
	size_t line;	   /* from 1; 0: the whole file */
	size_t other_line; /* earlier line in conflict; 0: none */
	const char *text;  /* message, to follow "FILE:LINE: " */
};

enum user_rule_key {
	USER_RULE_BUILD_ID = 1,
	USER_RULE_FILE_ID,
};

struct user_rule {
	const uint8_t *id;   /* points into the text */
	uint64_t start, end; /* linked addresses */
	struct unwind_rule rule;
	uint32_t line;
	uint8_t id_size;
	uint8_t key; /* enum user_rule_key */
};

struct user_rules {
	char *text;		/* the file; ids have overwritten their digits */
	struct user_rule *list; /* by key, id and start; no overlaps within an id */
	size_t n;
};

/*
 * Reads a file for an architecture. 0, -errno, or a positive enum user_rules_outcome with an
 * explanation in `error`; `ret` is set on success only.
 */
int user_rules_read(const struct unwind_arch *arch, const char *path, struct user_rules *ret,
		    struct user_rules_error *error);

/* The same for a text in memory, which is freed on failure and owned by `ret` otherwise. */
int user_rules_parse(const struct unwind_arch *arch, char *text, size_t size,
		     struct user_rules *ret, struct user_rules_error *error);

/* Also for a zeroed struct. */
void user_rules_deinit(struct user_rules *user_rules);

/* The rule of a part of an image's file: [start, end) are file offsets. */
struct image_user_rule {
	uint64_t start, end;
	struct unwind_rule rule;
};

/* The rules of one image; independent of the struct user_rules and the ELF file. */
struct image_user_rules {
	struct image_user_rule *list; /* sorted, without overlaps */
	size_t n;		      /* 0: `list` is NULL */
};

/*
 * The rules of an image: those of its build-id (NULL or size 0: none), and elsewhere those of its
 * file id (16 bytes; NULL: unknown). Addresses outside all segments are left out. 0 or -ENOMEM.
 */
int user_rules_of_image(const struct user_rules *user_rules, const struct elf_image *file,
			const void *build_id, size_t build_id_size, const uint8_t *file_id,
			struct image_user_rules *ret);
void image_user_rules_deinit(struct image_user_rules *user_rules);

/* The rule at a file offset; NULL: none. Valid as long as `user_rules` is. */
const struct unwind_rule *image_user_rules_find(const struct image_user_rules *user_rules,
						uint64_t offset);
