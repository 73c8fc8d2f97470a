/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "perf-source/context/v8-layout.h"

static const struct v8_layout layouts[] = {
	{ /* node 20 */
	  .major = 11,
	  .minor = 3,
	  .c_entry = 0x180,
	  .fast_frame = 0xe8,
	  .fast_instruction = 0xf0,
	  .shared = 24,
	  .data = 8,
	  .scope = 16,
	  .script = 32,
	  .scope_names = 32,
	  .scope_words = 0x0e,
	  .code_data = 16,
	  .code_positions = 24,
	  .code_flags = 48,
	  .code_size = 56,
	  .code_head = 8,
	  .literals = 0x20,
	  .optimization = 0x38,
	  .own = 0x40,
	  .inlinings = 0x48,
	  .baseline = 11,
	  .function_type = 0x106,
	  .code_type = 0xf5 },
	{ /* node 22 */
	  .major = 12,
	  .minor = 4,
	  .c_entry = 0x110,
	  .fast_frame = 0xf0,
	  .fast_instruction = 0xf8,
	  .shared = 32,
	  .data = 8,
	  .scope = 16,
	  .script = 32,
	  .scope_names = 32,
	  .scope_words = 0x0e,
	  .code_data = 8,
	  .code_positions = 16,
	  .code_flags = 48,
	  .code_size = 52,
	  .code_head = 24,
	  .literals = 0x20,
	  .optimization = 0x38,
	  .own = 0x40,
	  .inlinings = 0x48,
	  .baseline = 10,
	  .function_type = 0x112,
	  .code_type = 0xce },
	{ /* node 24 */
	  .major = 13,
	  .minor = 6,
	  .c_entry = 0x140,
	  .fast_frame = 0x128,
	  .fast_instruction = 0x120,
	  .shared = 32,
	  .data = 8,
	  .scope = 24,
	  .script = 40,
	  .scope_names = 48,
	  .scope_words = 0x3e,
	  .code_data = 8,
	  .code_positions = 16,
	  .code_flags = 52,
	  .code_size = 56,
	  .code_head = 24,
	  .literals = 0x28,
	  .optimization = 0x40,
	  .own = 0x48,
	  .inlinings = 0x50,
	  .is_own_wrapped = 1,
	  .baseline = 10,
	  .function_type = 0x11a,
	  .code_type = 0xbb },
};

const struct v8_layout *v8_layout_find(unsigned int major, unsigned int minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].major == major && layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}
