/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the C library's loader would take us into a program; if not, why. */
#pragma once

#include <stddef.h>

/*
 * A text for a person: the reason for which a command, looked for as execvp(3) does it, cannot be
 * traced; NULL: none is known.
 */
const char *target_check(const char *command);

/* One of these texts: of a program of which we hear only what others in it allocate. */
extern const char target_allocator[];

/*
 * A text, too, for a program that would end at once with us in it: it has a sanitizer, whose
 * allocator has to come first.
 */
const char *target_refusal(const char *command);
