/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whether the program's calls of malloc(3) reach our hook; otherwise it defines malloc itself. */
bool hooks_are_first(void);
