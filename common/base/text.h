/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Escapes text that a target controls (names of threads, files and symbols) for terminals,
 * line-based files and viewers, so that nothing in it is hidden.
 *
 * Escaped are characters that are invisible or change how their surroundings look (as \u{202e}),
 * and bytes that are not UTF-8 (as \x{ff}): control characters, direction marks and overrides, line
 * and paragraph separators, zero-width characters, tags, noncharacters. Clean text is left as it
 * is, so it may be cleaned twice; text that imitates an escape is therefore not told from one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TEXT_ESCAPE_MAX = 10 }; /* bytes of an escape */

/* Room for any text of `size` bytes, escaped, and a zero byte. */
#define TEXT_CLEAN_SIZE(size) ((size)*6 + 1)

/*
 * Copies `size` bytes of text to `ret` of `ret_size` bytes, escaped and zero-terminated, and
 * returns the length. A text that does not fit is cut between characters.
 */
size_t text_clean(const char *text, size_t size, char *ret, size_t ret_size);

/* The same; `ret_taken` is how many bytes of the text fitted. */
size_t text_clean_most(const char *text, size_t size, char *ret, size_t ret_size,
		       size_t *ret_taken);

/* text_clean() of a C string; returns `ret`. */
const char *text_clean_string(const char *text, char *ret, size_t ret_size);

/* Prints a cleaned text, cut between characters to `width` bytes (at most TEXT_CUT_MAX) and "…". */
enum { TEXT_CUT_MAX = 1024 };
void text_put_cut(const char *text, size_t width, FILE *out);

/* The last component of a path, for display. */
const char *text_last_part(const char *path);

/* Whether a text ends with `ending` and has something before it. */
bool text_has_ending(const char *text, const char *ending);

/* The value of a hexadecimal digit, independent of the locale (unlike ctype.h); -1: not a digit. */
int text_digit_value(char digit);
