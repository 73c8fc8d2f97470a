/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames of C, of which some are of an interpreter's loop, and the stack in memory, for tests of
 * what activations hold; and the walk of a sample.
 */
#pragma once

#include <string.h>

#include "live-unwinder/script-merge.h"

enum {
	TEST_LOOP = 0x500000,
	TEST_LOOP_SIZE = 0x8000,
	TEST_OTHER = 0x400000, /* code of other functions of C */
	TEST_STACK = 0x7000,
	TEST_FRAME = 0x100, /* bytes of each frame */
	TEST_FRAMES = 7,
	TEST_MAPPING = 5, /* that has the script's frames */
};

static const struct script_loop test_loop = { TEST_LOOP, TEST_LOOP + TEST_LOOP_SIZE, 0, 0 };

static struct {
	struct wire_frame frames[TEST_FRAMES + SCRIPT_FRAMES_MAX];
	uint64_t pointers[TEST_FRAMES];
	uint64_t words[(TEST_FRAMES + 4) * TEST_FRAME / 8], registers[ARCH_REGISTERS_MAX];
	struct wire_sample sample;
	struct unwinding unwinding;
} test_c;

/* A list of elements, which lie one behind the other. */
static struct {
	char bytes[8192];
	size_t size;
	uint16_t n, window;
} test_walk;

/* Makes the frames; those in the mask are of the loop. Nothing holds anything. */
static inline void test_c_begin(uint64_t process, unsigned int loops)
{
	memset(&test_c, 0, sizeof(test_c));
	for (size_t i = 0; i < TEST_FRAMES; i++) {
		test_c.frames[i].address = (loops >> i & 1 ? TEST_LOOP : TEST_OTHER) + 16 + i;
		test_c.pointers[i] = TEST_STACK + i * TEST_FRAME;
	}
	test_c.registers[arch_x86_64.sample_index[arch_x86_64.sp]] = TEST_STACK;
	test_c.sample = (struct wire_sample){
		.process = process,
		.stack = { (const char *)test_c.words, sizeof(test_c.words) },
		.registers = { test_c.registers, arch_x86_64.n_registers },
	};
	test_c.unwinding = (struct unwinding){
		.arch = &arch_x86_64,
		.sample = &test_c.sample,
		.frames = test_c.frames,
		.stack_pointers = test_c.pointers,
		.n_frames = TEST_FRAMES,
		.end = WIRE_stack_end_COMPLETE,
	};
}

/* Puts a word into a frame of C. */
static inline void test_c_put(size_t frame, size_t word, uint64_t value)
{
	test_c.words[frame * TEST_FRAME / 8 + word] = value;
}

static inline void test_walk_begin(uint16_t window)
{
	test_walk.size = 8;
	test_walk.n = 0;
	test_walk.window = window;
}

static inline void test_walk_add(uint64_t address, uint64_t identity, const void *window)
{
	const uint64_t element[] = { address, identity };

	memcpy(test_walk.bytes + test_walk.size, element, sizeof(element));
	memcpy(test_walk.bytes + test_walk.size + sizeof(element), window, test_walk.window);
	test_walk.size += sizeof(element) + test_walk.window;
	test_walk.n++;
}

/* The window of the i-th element. */
static inline char *test_walk_window(size_t i)
{
	return test_walk.bytes + 8 + i * (16 + test_walk.window) + 16;
}

/* Puts the walk into the sample, as far as it was read. */
static inline const struct wire_sample *test_walk_end(uint16_t end)
{
	const uint16_t head[] = { 0, test_walk.window, test_walk.n, end };

	memcpy(test_walk.bytes, head, sizeof(head));
	test_c.sample.walk = (struct wire_blob){ test_walk.bytes, test_walk.size };
	return &test_c.sample;
}
