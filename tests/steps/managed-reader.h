/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds managed code of .NET in the memory of a stopped process, as the program in the kernel does
 * at a sample (perf-source/bpf/managed-code.h and read-managed.h).
 */
#pragma once

#include <sys/types.h>

#include "common/script/dotnet-code.h"
#include "perf-source/bpf/walk-program.h"

struct managed_reader {
	pid_t pid;
	const struct walk_managed *managed;
};

/* What has an address. */
struct managed_found {
	uint64_t begin;	   /* of the code; 0: none has it */
	uint64_t identity; /* by all that is known of it but its names */
	uint64_t method;
	struct dotnet_code code;
};

void managed_reader_find(const struct managed_reader *reader, uint64_t address,
			 struct managed_found *ret);

/* Reads the names of code that was found. */
void managed_reader_name(const struct managed_reader *reader, struct dotnet_code *code);
