/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One question of stackpipe doctor: whether a pipeline runs here. */
#pragma once

#include <stdio.h>

#include "stackpipe/pipeline.h"

enum doctor_answer {
	DOCTOR_YES,
	DOCTOR_NO,     /* it can be done without */
	DOCTOR_BROKEN, /* it cannot: stackpipe fails here */
};

/* Adds a stage: its name and its arguments, up to NULL. 0 or -ENOMEM. */
int doctor_add_stage(struct pipeline *pipeline, const char *const *words);

/* Runs it with its messages in `log`, and its stream nowhere. An exit status. */
int doctor_try(struct pipeline *pipeline, FILE *log);

/* The answer to "can it …?", and below it what was said, but for the name of who has said it. */
void doctor_print(enum doctor_answer answer, const char *what, FILE *log);
