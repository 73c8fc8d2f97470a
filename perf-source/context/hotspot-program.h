/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk program that finds HotSpot's frames, and what belongs to them. */
#pragma once

#include "perf-source/context/hotspot-vm.h"

/* In the order of `ranges`: descriptions of instructions, scopes, and what they name. */
enum { HOTSPOT_PCS, HOTSPOT_SCOPES, HOTSPOT_METADATA };

/* Makes it, and finds the ranges of `vm`. False: something is not where it should be. */
bool hotspot_program_make(struct hotspot_vm *vm, struct walk_program *ret);
