/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interpreters whose functions are not recorded: they are known by what they export, so that a
 * message can say so.
 */
#pragma once

#include "perf-source/context/runtime.h"

/* The number of the one that a mapped file may hold, by its path; -1: none. */
int other_language_in(const char *path);

/* Finds one in an image, by its number, and its version ("": not known). */
bool other_language_find(const struct loaded_image *image, unsigned int *ret,
			 char ret_version[RUNTIME_VERSION_SIZE]);

const char *other_language_name(unsigned int language);
