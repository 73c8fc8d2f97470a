/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roots of walk programs in variables of the thread. */
#pragma once

#include "perf-source/bpf/context-place.h"
#include "perf-source/bpf/walk-program.h"

/* Leads to a variable, whose pointer is to be followed next: its place must be known. */
struct walk_root walk_root_of_variable(const struct context_place *place);

/* Adds a load: a pointer is followed, and so many bytes are added to it. */
void walk_root_add(struct walk_root *root, int64_t offset);
