/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the stages run in their sandboxes. */
#pragma once

#include "stackpipe/doctor/doctor-check.h"

/* Tries each stage in its sandbox; `source` and its arguments say where a stream comes from. */
enum doctor_answer doctor_try_sandboxes(const char *const *source);
