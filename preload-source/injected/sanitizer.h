/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * AddressSanitizer, ThreadSanitizer and the like abort a program unless their runtime precedes all
 * other libraries. So such a program is executed again without us.
 */
#pragma once

#include <stdbool.h>

/* Whether the program, or a library that it was started with, has a sanitizer. */
bool sanitizer_is_here(void);

/*
 * If there is a sanitizer, reports that to the reader and executes the program again without us in
 * its environment. Returns if there is none, or if the program cannot be executed again: then
 * nothing is recorded.
 */
void sanitizer_step_aside(void);
