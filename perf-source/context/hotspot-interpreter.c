/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/context/hotspot-interpreter.h"

enum {
	PIECES_MAX = 1024, /* of the code, */
	PIECE_NAME_SIZE = 40,
	PIECE_READ = 4096, /* bytes of one */
};

/* Adds code to the last range, or begins another one. */
static void add_range(struct hotspot_vm *vm, uint64_t from, uint64_t to)
{
	size_t n = vm->n_ranges;

	if (from >= to)
		return;
	if (n && vm->ranges[n - 1].to == from) {
		vm->ranges[n - 1].to = to;
	} else if (n < HOTSPOT_RANGES_MAX) {
		vm->ranges[n].from = from;
		vm->ranges[n].to = to;
		vm->n_ranges++;
	}
}

/* Adds code in which a method has no frame yet; the head of a piece is no code. */
static void add_begin(struct walk_frames *frames, uint64_t from, uint64_t to)
{
	for (size_t i = 0; from < to && i < WALK_BEGINS_MAX; i++) {
		if (frames->begins[i].to)
			continue;
		frames->begins[i].from = from;
		frames->begins[i].to = to;
		return;
	}
}

/* Code of a piece of the interpreter. */
struct interpreter_piece {
	uint8_t code[PIECE_READ];
	size_t size;
};

static bool has_bytes(const struct interpreter_piece *piece, size_t at, const uint8_t *bytes,
		      size_t size)
{
	return at + size <= piece->size && !memcmp(piece->code + at, bytes, size);
}

/*
 * How far in a piece that makes a frame it is made: it has pushed where it is in the method, and a
 * word that it fills in, or not (TemplateInterpreterGenerator::generate_fixed_frame). The stack
 * pointer of the caller is in the same register, and was pushed in the same way before, so the last
 * one counts. Its size: no such code was found.
 */
static size_t find_made(const struct interpreter_piece *piece)
{
	static const uint8_t push_place[] = { 0x41, 0x55, 0x68 };
	static const uint8_t fill[] = { 0x48, 0x89, 0x24, 0x24 };
	enum { PUSHED = sizeof(push_place) + sizeof(int32_t) };

	for (size_t i = piece->size; i--;)
		if (has_bytes(piece, i, push_place, sizeof(push_place)))
			return i + PUSHED +
			       (has_bytes(piece, i + PUSHED, fill, sizeof(fill)) ? sizeof(fill)
										 : 0);
	return piece->size;
}

/*
 * How far in a piece that leaves a frame that is there: behind `leave` it goes back to its caller's
 * stack pointer soon (InterpreterMacroAssembler::remove_activation). 0: no such code was found.
 */
static size_t find_left(const struct interpreter_piece *piece)
{
	static const uint8_t go_back[] = { 0x41, 0x5d, 0x48, 0x8b, 0xe3 };
	enum { LEAVE = 0xc9, NEAR = 12 };

	for (size_t i = piece->size; i--;)
		for (size_t j = 1; piece->code[i] == LEAVE && j < NEAR; j++)
			if (has_bytes(piece, i + j, go_back, sizeof(go_back)))
				return i + 1;
	return 0;
}

/*
 * How far in a piece that makes a frame it has not begun to: it takes the return address off the
 * stack to make room for variables, or, if there is no room, to throw an exception
 * (generate_normal_entry(), generate_stack_overflow_check()). 0: no such code was found.
 */
static size_t find_begun(const struct interpreter_piece *piece)
{
	static const uint8_t make_room[] = { 0x58, 0x4c, 0x8d, 0x74, 0xcc },
			     lack_room[] = { 0x58, 0x49, 0x8b, 0xe5 };

	for (size_t i = 0; i < piece->size; i++)
		if (has_bytes(piece, i, make_room, sizeof(make_room)) ||
		    has_bytes(piece, i, lack_room, sizeof(lack_room)))
			return i + 1;
	return 0;
}

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

/*
 * The part of a piece of the interpreter's code in which the frame of the method is there. Those of
 * bytecodes have it, but for the end of those that leave the method; code that methods begin with
 * makes it, and at first has not begun to.
 */
static void add_piece(struct hotspot_vm *vm, int32_t bytecode, const char *name, uint64_t from,
		      uint64_t to, struct walk_frames *frames)
{
	bool returns = strstr(name, "return");
	struct interpreter_piece piece = { .size = to - from < PIECE_READ ? to - from
									  : PIECE_READ };

	if (!hotspot_read(vm, from, piece.code, piece.size))
		return;
	if (bytecode >= 0 ? !returns : strstr(name, "return entry points") != NULL)
		add_range(vm, from, to);
	else if (bytecode >= 0)
		add_range(vm, from, from + find_left(&piece));
	else if (begins_with(name, "method entry point (kind = zerolocals"))
		add_range(vm, from + find_made(&piece), to);
	if (begins_with(name, "method entry point (kind = zerolocals") ||
	    begins_with(name, "method entry point (kind = native"))
		add_begin(frames, from, from + find_begun(&piece));
}

/* The interpreter's code is a list of pieces. */
bool hotspot_interpreter_find(struct hotspot_vm *vm, struct walk_frames *frames)
{
	int32_t size, bytecode, end, n;
	char name[PIECE_NAME_SIZE] = "";
	uint64_t queue, from, piece, text;

	if (!hotspot_read_pointer(vm, hotspot_at(vm, HOTSPOT_INTERPRETER), &queue) ||
	    !hotspot_read_pointer(vm, queue + hotspot_at(vm, HOTSPOT_QUEUE_BUFFER), &from) ||
	    !hotspot_read(vm, queue + hotspot_at(vm, HOTSPOT_QUEUE_END), &end, sizeof(end)) ||
	    !hotspot_read(vm, queue + hotspot_at(vm, HOTSPOT_QUEUE_N), &n, sizeof(n)) || end <= 0)
		return false;
	frames->interpreter_from = piece = from;
	frames->interpreter_to = from + end;
	for (int32_t i = 0; i < n && i < PIECES_MAX; i++, piece += size) {
		if (!hotspot_read(vm, piece + hotspot_at(vm, HOTSPOT_CODELET_SIZE), &size,
				  sizeof(size)) ||
		    !hotspot_read(vm, piece + hotspot_at(vm, HOTSPOT_CODELET_BYTECODE), &bytecode,
				  sizeof(bytecode)) ||
		    !hotspot_read_pointer(vm, piece + hotspot_at(vm, HOTSPOT_CODELET_NAME),
					  &text) ||
		    !hotspot_read(vm, text, name, sizeof(name) - 1) || size <= 0 || size > end)
			return false;
		add_piece(vm, bytecode, name, piece, piece + size, frames);
	}
	return vm->n_ranges > 0;
}
