/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes room for nodes of a profile. It drops the rarest stacks of the processes that alone have
 * the most nodes, so that one process cannot displace the stacks of others: each keeps all its
 * nodes up to an equal share. Nodes that several processes share are dropped last.
 */
#pragma once

#include "profile/profile.h"

/*
 * Drops half of the nodes, but not `crowd`. Renumbers nodes, locations and calls, in samples too;
 * the caller must empty the frame cache of `stacks`. 0, or -ENOMEM with nothing changed.
 */
int profile_prune(struct profile *profile, uint32_t crowd);
