/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Restricts a privileged process to the capabilities (capabilities(7)) that it still needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Drops every capability of this process that is not in `kept`, for good: programs that it runs get
 * none. Call it before there is a second thread. Returns false if anything could not be dropped.
 */
bool capabilities_keep(const int *kept, size_t n);

/* Whether this process has the capability in its effective set. */
bool capabilities_have(int capability);
