/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/* The structure that contains `*pointer` as its member. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
