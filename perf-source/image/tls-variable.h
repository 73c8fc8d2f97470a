/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the threads of a process have an exported variable of thread-local storage. What the
 * dynamic linker has decided lies in the module's memory, where a relocation of the variable says:
 * the number of the module, a descriptor (TLSDESC), or the distance from the thread pointer. A
 * program that needs none of these has its variables at a distance that its file alone gives.
 * (Ulrich Drepper, "ELF Handling For Thread-Local Storage".)
 */
#pragma once

#include "common/elf/elf-image.h"
#include "perf-source/bpf/context-place.h"

enum { TLS_VARIABLE_NONE = 1, TLS_VARIABLE_UNKNOWN = 2 };

/*
 * `bias` is the address of the image's memory minus that in its file; `memory` a descriptor of
 * /proc/PID/mem. 0; TLS_VARIABLE_NONE: the image exports no such variable; TLS_VARIABLE_UNKNOWN: it
 * does, but the dynamic linker has not placed it yet, or in a way that is not known.
 */
int tls_variable_find(const struct elf_image *image, uint64_t bias, int memory, const char *name,
		      struct context_place *ret);

/* The same for a variable that the image does not export, but has in its symbol table. */
int tls_variable_find_local(const struct elf_image *image, uint64_t bias, int memory,
			    const char *name, struct context_place *ret);
