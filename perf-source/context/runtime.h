/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An interpreter in a process, and the walk program that reads what its threads execute. */
#pragma once

#include "perf-source/bpf/walk-program.h"
#include "perf-source/context/loaded-image.h"

enum { RUNTIME_NAME_SIZE = 16, RUNTIME_LAYOUT_SIZE = 512 };

enum runtime_state {
	RUNTIME_NONE,
	RUNTIME_KNOWN,
	/* There is one, but nobody knows where its frames are: */
	RUNTIME_OTHER_VERSION,
	RUNTIME_OTHER_BUILD,
	RUNTIME_WITHOUT_GIL,
};

struct runtime {
	enum runtime_state state;
	struct walk_program walk; /* of a known one, as its kind and layout */
	uint64_t image;		  /* the image that holds it */
	char kind[RUNTIME_NAME_SIZE];
	char version[RUNTIME_NAME_SIZE];  /* "": not known */
	char layout[RUNTIME_LAYOUT_SIZE]; /* for those who interpret what is read */
};

/* Whether a mapped file may hold an interpreter, by its path: others are not searched. */
bool runtime_may_be_in(const char *path);

/* Finds CPython, by what it exports. Returns its state, which ret->state does not have yet. */
enum runtime_state cpython_find(const struct loaded_image *image, struct runtime *ret);
