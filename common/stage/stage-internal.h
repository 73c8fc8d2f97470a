/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internal interfaces of the stage runtime. */
#pragma once

#include "common/stage/stage.h"

/* stage-front.c */
void stage_find_front(struct stage *stage);
void stage_report_ready(struct stage *stage);

/* stage-options.c: exits on --help, --version and usage errors. */
void stage_parse_options(struct stage *stage, void *self, int argc, char **argv);

/* stage-signals.c */
void stage_catch_signals(void);

/* stage-sandbox.c: 0 or -errno; a missing part that is required is reported. */
int stage_enter_sandbox(struct stage *stage, void *self);
int stage_report_sandbox(struct stage *stage);

/* stage-output.c: sends warnings from before the hello, which must be the first record. */
int stage_send_early_warnings(struct stage *stage);

/* stage-stats.c: opening and writing report their own errors. */
int stage_open_stats(struct stage *stage);
int stage_send_end(struct stage *stage, enum stage_stream_end end);
void stage_write_stats(struct stage *stage);
