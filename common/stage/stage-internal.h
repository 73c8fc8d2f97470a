/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the stage runtime share with each other alone. */
#pragma once

#include "common/stage/stage.h"

/* stage-front.c */
void stage_find_front(struct stage *stage);
void stage_report_ready(struct stage *stage);

/* stage-options.c: exits by itself on --help, --version and usage errors. */
void stage_parse_options(struct stage *stage, void *self, int argc, char **argv);

/* stage-signals.c */
void stage_catch_signals(void);

/* stage-sandbox.c: 0 or -errno; what is in the way is said. */
int stage_enter_sandbox(struct stage *stage, void *self);
int stage_report_sandbox(struct stage *stage);

/* stage-output.c: warnings that came before the hello, which is always the first record. */
int stage_send_early_warnings(struct stage *stage);

/* stage-stats.c: all say themselves what went wrong. */
int stage_open_stats(struct stage *stage);
int stage_send_end(struct stage *stage, enum stage_stream_end end);
void stage_write_stats(struct stage *stage);
