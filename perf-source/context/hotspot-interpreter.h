/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code of HotSpot's interpreter, and where in it a method has its frame. */
#pragma once

#include "perf-source/context/hotspot-vm.h"

/* Finds where the code is, and the ranges of `vm`. False: it cannot be read. */
bool hotspot_interpreter_find(struct hotspot_vm *vm, struct walk_frames *frames);
