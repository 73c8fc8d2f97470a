/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How managed code of files is left. A file's descriptions are rarely in memory, as only exceptions
 * need them: what a sample did not find there is in the file itself.
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "common/script/dotnet-code.h"
#include "common/stream/process-table.h"

enum dotnet_file_outcome {
	DOTNET_FILE_OK,
	DOTNET_FILE_E_UNAVAILABLE, /* the file cannot be read, or has something else there */
	DOTNET_FILE_E_PENDING,	   /* it is not known yet */
};

/*
 * Reads the description of code that a process has at an address, from the file that it has mapped
 * there.
 */
enum dotnet_file_outcome dotnet_file_read(struct elf_cache *files, const struct process *process,
					  uint64_t begin, struct dotnet_code *code);
