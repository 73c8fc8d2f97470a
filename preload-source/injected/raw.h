/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records a stack that cannot be walked here: registers and bytes, for live-unwinder. */
#pragma once

#include <stdbool.h>

#include "preload-source/injected/walk.h"

/* `caller` is where the walk would have begun. false: no room. */
bool raw_put(struct walk_frame caller);
