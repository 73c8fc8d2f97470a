/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

/* Whether there is a terminal to draw on; reports why not. */
bool terminal_is_there(void);
