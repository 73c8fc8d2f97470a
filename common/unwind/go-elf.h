/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds a Go program's table of functions in an ELF file. */
#pragma once

#include <libelf.h>

#include "common/unwind/go-pclntab.h"

/* Reads the table of a file; its bytes are the Elf's, and stay as long as that does. */
enum go_pclntab_outcome go_elf_read(Elf *elf, struct go_pclntab *ret);
