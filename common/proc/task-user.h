/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The user who is responsible for a process: its real user, as seen here; if it is in a user
 * namespace, that namespace's creator, who can be any user in it; but its real user again if root
 * created that, as for a container. A process can neither hide nor choose this user.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define TASK_USER_UNKNOWN ((uid_t)-1)

/* TASK_USER_UNKNOWN: the process has exited, or we lack permission. Never blocks on the process. */
uid_t task_user(uint32_t pid);
