/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an ELF file has what a Go program tells its runtime. */
#pragma once

#include <libelf.h>

#include "common/unwind/go-pclntab.h"

/* The table of a file; its bytes are the Elf's, and stay as long as that does. */
enum go_pclntab_outcome go_elf_read(Elf *elf, struct go_pclntab *ret);
