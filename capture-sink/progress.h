/* SPDX-License-Identifier: GPL-3.0-or-later */
/* While a stream comes, one line on a terminal: how much there is, and what was lost. */
#pragma once

#include "formats/capture.h"

void progress_show(struct capture *capture);

/* Before anything else is written there. */
void progress_clear(struct capture *capture);
