/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Programs with AddressSanitizer, ThreadSanitizer and the like: their runtime has to be in front of
 * everybody else, or the program ends. So such a program is begun again without us.
 */
#pragma once

#include <stdbool.h>

/* Whether the program, or a library that it has begun with, has one. */
bool sanitizer_is_here(void);

/*
 * Where there is one, executes the program again with us taken out of its environment, and does not
 * come back; before that the reader is told. It comes back where there is none, and where the
 * program cannot be executed again: then nothing is recorded.
 */
void sanitizer_step_aside(void);
