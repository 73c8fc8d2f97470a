/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "symbolizer/script/beam-function.h"

/* Copies the name of an atom, up to its first zero; empty: it was not in memory. */
static void copy_name(const struct beam_fields *fields, const struct wire_blob *atom,
		      const struct wire_blob *name, char to[SCRIPT_TEXT_MAX])
{
	uint16_t length;
	size_t size;

	*to = 0;
	if (!memory_field(atom, fields->atom_length, &length, sizeof(length)))
		return;
	size = length < name->size ? length : name->size;
	size = size < SCRIPT_TEXT_MAX ? size : SCRIPT_TEXT_MAX - 1;
	memcpy(to, name->data, size);
	to[size] = 0;
}

enum {
	CELL = 16,	    /* of a list: a character, and where the rest is */
	CHARACTER_BITS = 4, /* in front of one: the tag of small numbers (erl_term.h) */
	CHARACTER = 0xf,
	LIST = 1,
	NIL = 0x3b,
	ASCII = 0x80,
};

/*
 * Copies a list of characters, of which the last cell of a piece is the first, and each further one
 * is in front of the one before. Other lists end where they are not so.
 */
static void copy_list(const struct wire_blob *cells, char to[SCRIPT_TEXT_MAX])
{
	uint64_t cell[2], rest = 0;
	size_t n = 0;

	for (size_t at = cells->size; at >= CELL && n < SCRIPT_TEXT_MAX - 1; at -= CELL) {
		memcpy(cell, (const char *)cells->data + at - CELL, sizeof(cell));
		if ((cell[0] & CHARACTER) != CHARACTER)
			break;
		to[n++] = cell[0] >> CHARACTER_BITS < ASCII ? cell[0] >> CHARACTER_BITS : '?';
		if (cell[1] == NIL || (cell[1] & 3) != LIST || (rest && cell[1] != rest - CELL))
			break;
		rest = cell[1];
	}
	to[n] = 0;
}

bool beam_function_decode(const struct beam_fields *fields, const struct wire_memory *record,
			  struct script_code_text *ret)
{
	struct wire_blob atoms[2], names[2], file; /* atoms of the module and the function */
	char module[SCRIPT_TEXT_MAX], function[SCRIPT_TEXT_MAX];
	struct memory_pieces pieces;
	uint8_t arity;

	*ret->name = *ret->file = 0;
	if (!memory_pieces_begin(&record->bytes, fields->function_size, &pieces) ||
	    !memory_field(&record->bytes, fields->function_arity, &arity, sizeof(arity)))
		return false;
	for (size_t i = 0; i < 2; i++)
		if (!memory_pieces_next(&pieces, &atoms[i]) ||
		    !memory_pieces_next(&pieces, &names[i]))
			return false;
	if (!memory_pieces_next(&pieces, &file))
		return false;
	copy_name(fields, &atoms[0], &names[0], module);
	copy_name(fields, &atoms[1], &names[1], function);
	copy_list(&file, ret->file);
	if (!*module || !*function)
		return true;
	if (snprintf(ret->name, sizeof(ret->name), "%s:%s/%u", module, function, arity) >=
	    SCRIPT_TEXT_MAX)
		*ret->name = 0;
	return true;
}
