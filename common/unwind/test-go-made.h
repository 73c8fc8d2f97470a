/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: a hand-made .gopclntab with three functions and their stack depths. The first has
 * lines of two files, and a call inlined at 16 bytes (the only one of GO_MADE_CALLS).
 */
#pragma once

#include <stdint.h>
#include <string.h>

enum {
	GO_MADE_1_18 = 0xfffffff0,
	GO_MADE_1_20 = 0xfffffff1,
	GO_MADE_NAMES = 0x48,
	GO_MADE_UNITS = 0x70,
	GO_MADE_FILES = 0x78,
	GO_MADE_INSTRUCTIONS = 0x84,
	GO_MADE_FUNCTIONS = 0xb0,
	GO_MADE_ENTRY = 80, /* bytes that each function takes */
	GO_MADE_SIZE = GO_MADE_FUNCTIONS + 3 * 8 + 8 + 3 * GO_MADE_ENTRY,
	GO_MADE_ADDRESS = 0x600000,
	GO_MADE_TEXT = 0x401000,
	GO_MADE_INLINED = 0x10, /* from its function's start */
};

/* The data of the first function: the inlined call main.g, from the line of main.f + 8. */
static const uint32_t go_made_calls_1_18[] = { 0, 0, 0, 28, 8 }, go_made_calls[] = { 0, 28, 8, 0 };

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
	static const char names[] = "\0main.f\0runtime.goexit\0gogo\0main.g";
	static const char files[] = "a.go\0b.go";
	static const uint8_t instructions[] = {
		0,				  /* a table never begins at offset 0 */
		0x02, 4,  0x10, 0x1c, 0x0f, 2, 0, /* stack: 0 up to +4, 8 to +0x20, 0 to +0x22 */
		0x02, 16, 0,			  /* 0 up to +16 */
		0x02, 16, 0x02, 8,    0x01, 8, 0, /* file: 0 up to +16, 1 to +24, 0 to +32 */
		0x16, 16, 0x14, 8,    0x0f, 8, 0, /* line: 10 up to +16, 20 to +24, 12 to +32 */
		0x00, 16, 0x02, 8,    0x01, 8, 0, /* call: none up to +16, 0 to +24, none */
	};
	static const uint32_t lists[] = { 0, 0, 25, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0 };
	static const struct {
		uint32_t start, name, stack, file, line, n_tables;
		uint8_t flags, n_data;
	} functions[] = {
		{ 0, 1, 1, 11, 18, 3, 0, 4 },
		{ 0x40, 8, 8, 0, 0, 0, 5, 0 },
		{ 0x60, 23, 8, 0, 0, 0, 6, 0 },
	};
	const uint64_t head[] = { 3,
				  0,
				  GO_MADE_TEXT,
				  GO_MADE_NAMES,
				  GO_MADE_UNITS,
				  GO_MADE_FILES,
				  GO_MADE_INSTRUCTIONS,
				  GO_MADE_FUNCTIONS };
	size_t size = magic == GO_MADE_1_18 ? 40 : 44; /* fixed part of a function */
	struct go_made made = { { 0 } };

	go_made_put32(&made, 0, magic);
	made.bytes[6] = 1;
	made.bytes[7] = 8;
	memcpy(made.bytes + 8, head, sizeof(head));
	memcpy(made.bytes + GO_MADE_NAMES, names, sizeof(names));
	go_made_put32(&made, GO_MADE_UNITS + 4, strlen(files) + 1);
	memcpy(made.bytes + GO_MADE_FILES, files, sizeof(files));
	memcpy(made.bytes + GO_MADE_INSTRUCTIONS, instructions, sizeof(instructions));
	for (size_t i = 0; i < 3; i++) {
		size_t entry = GO_MADE_FUNCTIONS + 8 * i;
		size_t at = GO_MADE_FUNCTIONS + 32 + GO_MADE_ENTRY * i;

		go_made_put32(&made, entry, functions[i].start);
		go_made_put32(&made, entry + 4, at - GO_MADE_FUNCTIONS);
		go_made_put32(&made, at, functions[i].start);
		go_made_put32(&made, at + 4, functions[i].name);
		go_made_put32(&made, at + 16, functions[i].stack);
		go_made_put32(&made, at + 20, functions[i].file);
		go_made_put32(&made, at + 24, functions[i].line);
		go_made_put32(&made, at + 28, functions[i].n_tables);
		made.bytes[at + size - 3] = functions[i].flags;
		made.bytes[at + size - 1] = functions[i].n_data;
		if (functions[i].n_tables)
			memcpy(made.bytes + at + size, lists, sizeof(lists));
	}
	go_made_put32(&made, GO_MADE_FUNCTIONS + 24, 0x80);
	return made;
}
