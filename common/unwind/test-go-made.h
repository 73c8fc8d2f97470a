/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: a hand-made .gopclntab with three functions and their stack depths. */
#pragma once

#include <stdint.h>
#include <string.h>

enum {
	GO_MADE_1_18 = 0xfffffff0,
	GO_MADE_1_20 = 0xfffffff1,
	GO_MADE_NAMES = 0x48,
	GO_MADE_UNITS = 0x70,
	GO_MADE_STACKS = 0x74,
	GO_MADE_FUNCTIONS = 0x88,
	GO_MADE_SIZE = 0x88 + 3 * 8 + 8 + 3 * 48,
	GO_MADE_TEXT = 0x401000,
};

struct go_made {
	uint8_t bytes[GO_MADE_SIZE];
};

static inline void go_made_put32(struct go_made *made, size_t at, uint32_t word)
{
	memcpy(made->bytes + at, &word, sizeof(word));
}

static inline void go_made_put64(struct go_made *made, size_t at, uint64_t word)
{
	memcpy(made->bytes + at, &word, sizeof(word));
}

static inline struct go_made go_made(uint32_t magic)
{
	static const char names[] = "\0main.f\0runtime.goexit\0gogo";
	static const uint8_t stacks[] = {
		0,				  /* a table never begins at offset 0 */
		0x02, 4,  0x10, 0x1c, 0x0f, 2, 0, /* 0 up to +4, 8 up to +0x20, 0 up to +0x22 */
		0x02, 16, 0,			  /* 0 up to +16 */
	};
	static const struct {
		uint32_t start, name, stack;
		uint8_t flags;
	} functions[] = { { 0, 1, 1, 0 }, { 0x40, 8, 8, 5 }, { 0x60, 23, 8, 6 } };
	const uint64_t head[] = { 3,
				  0,
				  GO_MADE_TEXT,
				  GO_MADE_NAMES,
				  GO_MADE_UNITS,
				  GO_MADE_UNITS,
				  GO_MADE_STACKS,
				  GO_MADE_FUNCTIONS };
	struct go_made made = { { 0 } };

	go_made_put32(&made, 0, magic);
	made.bytes[6] = 1;
	made.bytes[7] = 8;
	memcpy(made.bytes + 8, head, sizeof(head));
	memcpy(made.bytes + GO_MADE_NAMES, names, sizeof(names));
	memcpy(made.bytes + GO_MADE_STACKS, stacks, sizeof(stacks));
	for (size_t i = 0; i < 3; i++) {
		size_t entry = GO_MADE_FUNCTIONS + 8 * i, at = GO_MADE_FUNCTIONS + 32 + 48 * i;

		go_made_put32(&made, entry, functions[i].start);
		go_made_put32(&made, entry + 4, at - GO_MADE_FUNCTIONS);
		go_made_put32(&made, at, functions[i].start);
		go_made_put32(&made, at + 4, functions[i].name);
		go_made_put32(&made, at + 16, functions[i].stack);
		made.bytes[at + (magic == GO_MADE_1_18 ? 37 : 41)] = functions[i].flags;
	}
	go_made_put32(&made, GO_MADE_FUNCTIONS + 24, 0x80);
	return made;
}
