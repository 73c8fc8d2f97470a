/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that a target controls (names of threads, files and symbols) on its way to a terminal, a
 * line-based file or a viewer: what is shown is what is there.
 *
 * What is not seen, or changes what is seen around it, is escaped: a character as \u{202e}, a byte
 * that is part of none as \x{ff}. That are control characters, marks and overrides of direction,
 * separators of lines and paragraphs, characters without a width, tags, noncharacters, and what is
 * no UTF-8. A text that is clean stays as it is, so that it may pass here twice; one that was
 * written so that it looks like an escape is therefore not told from one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TEXT_ESCAPE_MAX = 10 }; /* bytes of an escape */

/* Room for a whole text of `size` bytes, whatever they are, and a zero byte. */
#define TEXT_CLEAN_SIZE(size) ((size)*6 + 1)

/*
 * Copies `size` bytes of text to `ret`, which has room for `ret_size`, escapes what must not be
 * shown, ends it with a zero byte and returns its length. A text that does not fit is cut between
 * characters.
 */
size_t text_clean(const char *text, size_t size, char *ret, size_t ret_size);

/* The same; how many bytes of the text have found room goes to `ret_taken`. */
size_t text_clean_most(const char *text, size_t size, char *ret, size_t ret_size,
		       size_t *ret_taken);

/* The same as text_clean() of a string; returns `ret`. */
const char *text_clean_string(const char *text, char *ret, size_t ret_size);

/*
 * Prints a text, or as much of it as fits into `width` bytes (at most TEXT_CUT_MAX), cut between
 * characters and with a mark.
 */
enum { TEXT_CUT_MAX = 1024 };
void text_put_cut(const char *text, size_t width, FILE *out);

/* The last part of a path, for people. */
const char *text_last_part(const char *path);

/* Whether a text ends so, and has something in front of that. */
bool text_has_ending(const char *text, const char *ending);

/* The value of a hexadecimal digit in any locale, which ctype.h's depend on; -1: it is none. */
int text_digit_value(char digit);
