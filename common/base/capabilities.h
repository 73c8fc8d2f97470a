/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of a privileged process: keeping what is still needed (capabilities(7)), and nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Gives up every capability but those of a list that this process has, for good: no program that
 * it runs gets any. Before there is a second thread. false: some could not be given up.
 */
bool capabilities_keep(const int *kept, size_t n);

/* Whether this process has one, and may use it. */
bool capabilities_have(int capability);
