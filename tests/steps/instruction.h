/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an instruction does to the chain of calls, from its bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { INSTRUCTION_MAX = 15 }; /* bytes of one, on x86-64 */

enum instruction {
	INSTRUCTION_OTHER = 1,
	INSTRUCTION_CALL,
	INSTRUCTION_RETURN,
	INSTRUCTION_JUMP, /* to where a register or memory says */
	INSTRUCTION_SYSCALL,
};

enum instruction instruction_decode(const uint8_t *bytes, size_t size);
