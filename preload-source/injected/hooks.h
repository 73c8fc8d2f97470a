/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whether the program's calls of malloc(3) come here; else it defines that itself. */
bool hooks_are_first(void);
