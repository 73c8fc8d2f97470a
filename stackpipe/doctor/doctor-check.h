/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One check of stackpipe doctor: whether a pipeline runs on this machine. */
#pragma once

#include <stdio.h>

#include "stackpipe/pipeline.h"

enum doctor_answer {
	DOCTOR_YES,
	DOCTOR_NO,     /* the check is optional */
	DOCTOR_BROKEN, /* the check is required: stackpipe does not work here */
};

/* Adds a stage: its name and arguments, NULL-terminated. 0 or -ENOMEM. */
int doctor_add_stage(struct pipeline *pipeline, const char *const *words);

/* Runs a pipeline, its messages to `log`, its output discarded. Returns an exit status. */
int doctor_try(struct pipeline *pipeline, FILE *log);

/* Prints the answer to "can it …?", and below it the lines of `log`, which may be NULL. */
void doctor_print(enum doctor_answer answer, const char *what, FILE *log);
