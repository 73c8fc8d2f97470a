/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An interpreter in a process, and the walk program that reads what its threads execute. */
#pragma once

#include "common/elf/elf-image.h"
#include "perf-source/bpf/walk-program.h"

enum { RUNTIME_NAME_SIZE = 16, RUNTIME_LAYOUT_SIZE = 512 };

struct runtime {
	struct walk_program walk;
	uint64_t image;		      /* the image that holds it */
	char kind[RUNTIME_NAME_SIZE]; /* "" : none */
	char version[RUNTIME_NAME_SIZE];
	char layout[RUNTIME_LAYOUT_SIZE]; /* for those who interpret what is read */
};

/* A loaded image: `bias` is the address of its memory minus that in its file. */
struct loaded_image {
	const struct elf_image *elf;
	uint64_t bias;
	int memory; /* a descriptor of /proc/PID/mem */
};

/* Whether a mapped file may hold an interpreter, by its path: others are not searched. */
bool runtime_may_be_in(const char *path);

/* Finds CPython 3.11 to 3.13, by what it exports. False: there is none, or no known one. */
bool cpython_find(const struct loaded_image *image, struct runtime *ret);
