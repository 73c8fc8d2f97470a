/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: user rules as text, for one image that has both ids. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "live-unwinder/rules/user-rules.h"

#define _cleanup_user_rules_ _cleanup_(user_rules_deinit)
#define _cleanup_image_ _cleanup_(image_user_rules_deinit)

#define ID "build-id:0123abcd "
#define FILE_ID "00112233445566778899aabbccddeeff"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint8_t build_id[] = { 0x01, 0x23, 0xab, 0xcd };
static const uint8_t file_id[] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
				   0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };

/* Addresses equal offsets. */
static struct elf_segment whole[] = { { .size = UINT64_MAX, .is_executable = true } };
static const struct elf_image plain = { .fd = -1, .segments = whole, .n_segments = 1 };

/* Parses a block of exact size, so that sanitizers detect reads past its end. */
static inline int parse_bytes(const struct unwind_arch *arch, const void *bytes, size_t size,
			      struct user_rules *ret, struct user_rules_error *error)
{
	char *text = malloc(size);

	assert_non_null(text);
	memcpy(text, bytes, size);
	return user_rules_parse(arch, text, size, ret, error);
}

static inline int parse_text(const char *text, struct user_rules *ret,
			     struct user_rules_error *error)
{
	return parse_bytes(&unwind_x86_64, text, strlen(text), ret, error);
}

static inline struct user_rules parsed(const char *text)
{
	struct user_rules_error error = { 0 };
	struct user_rules user_rules;
	int r = parse_text(text, &user_rules, &error);

	if (r)
		fail_msg("line %zu of '%s': %s", error.line, text, error.text);
	return user_rules;
}
