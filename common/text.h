/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that a target controls (names of threads, files and symbols) on its way to a terminal, a
 * line-based file or a viewer: valid UTF-8 without control characters comes out.
 */
#pragma once

#include <stddef.h>

/*
 * Copies `size` bytes of text to `ret`, which has room for `ret_size`, ends it with a zero byte
 * and returns its length. Each byte that is no part of valid UTF-8, and each control character,
 * becomes one '?'. A text that does not fit is cut between characters.
 */
size_t text_clean(const char *text, size_t size, char *ret, size_t ret_size);

/* The same of a string; returns `ret`. */
const char *text_clean_string(const char *text, char *ret, size_t ret_size);

/* The value of a hexadecimal digit in any locale, which ctype.h's depend on; -1: it is none. */
int text_digit_value(char digit);
