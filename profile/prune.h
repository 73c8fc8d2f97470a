/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Room for the nodes of a profile. The stacks that give way are the rarest of those processes that
 * have the most nodes for themselves, so that nobody's stacks push out what others need: a process
 * keeps as many nodes as an equal share of all, or as it has. Nodes that several processes have go
 * last.
 */
#pragma once

#include "profile/profile.h"

/*
 * Drops half of the nodes, but not `crowd`. The numbers of nodes, locations and calls change, in
 * the samples, too; stacks must forget what it knows of frames. 0 or -ENOMEM, and nothing has
 * changed.
 */
int profile_prune(struct profile *profile, uint32_t crowd);
