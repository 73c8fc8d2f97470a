/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A stack that cannot be walked here, as it is: registers and bytes, for live-unwinder. */
#pragma once

#include <stdbool.h>

#include "preload-source/injected/walk.h"

/* `caller` is where the walk would have begun. false: there is no room for it. */
bool raw_put(struct walk_frame caller);
