/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "common/script/runtime-table.h"

/* The words of frames of a code object, as its trait (code-table.h); 0: it is none. */
uint64_t cpython_code_words(const struct cpython_fields *fields, const struct wire_memory *record);
