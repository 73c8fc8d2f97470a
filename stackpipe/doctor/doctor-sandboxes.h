/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether each stage runs in its sandbox. */
#pragma once

#include "stackpipe/doctor/doctor-check.h"

/* Tries each stage in its sandbox; `source` is the command line of a source of input. */
enum doctor_answer doctor_try_sandboxes(const char *const *source);
