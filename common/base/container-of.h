/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>

/* The structure whose member `pointer` points to, wherever that member lies in it. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
