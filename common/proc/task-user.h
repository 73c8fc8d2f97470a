/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who answers for a process: its real user, as we see him; of one in a user namespace, whoever made
 * that, as he can be any user in it. Where root has made it (for a container), it is the real user
 * again. A process can neither hide it nor choose another.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define TASK_USER_UNKNOWN ((uid_t)-1)

/* TASK_USER_UNKNOWN: there is no such process any more, or we may not know. Never waits for it. */
uid_t task_user(uint32_t pid);
