/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "symbolizer/script/php-function.h"

enum { INTERNAL_FUNCTION = 1 /* Zend/zend_compile.h */ };

/* Appends a string (zend_string) up to its first zero, as PHP itself shows names. */
static void append(const struct php_fields *fields, const struct wire_blob *string,
		   char to[SCRIPT_TEXT_MAX])
{
	size_t used = strlen(to), room = SCRIPT_TEXT_MAX - 1 - used, length, n_read;

	if (string->size < (size_t)fields->text ||
	    string->size < fields->text_length + sizeof(length))
		return;
	n_read = string->size - fields->text;
	length = script_number((const char *)string->data + fields->text_length, sizeof(length));
	length = length < n_read ? length : n_read;
	length = strnlen((const char *)string->data + fields->text, length);
	memcpy(to + used, (const char *)string->data + fields->text, length < room ? length : room);
}

/* What a file has outside of functions has no name. */
static void make_name(const struct php_fields *fields, const struct wire_blob *name,
		      const struct wire_blob *class_name, char ret[SCRIPT_TEXT_MAX])
{
	static const char separator[] = "::";

	if (!name->size) {
		strcpy(ret, "{main}");
		return;
	}
	append(fields, class_name, ret);
	if (*ret && strlen(ret) + strlen(separator) < SCRIPT_TEXT_MAX)
		strcat(ret, separator);
	append(fields, name, ret);
}

bool php_function_decode(const struct php_fields *fields, const struct wire_memory *record,
			 struct php_function *ret)
{
	const char *bytes = record->bytes.data;
	struct script_pieces pieces;
	struct wire_blob name, file, class_head, class_name;

	*ret = (struct php_function){ 0 };
	if (fields->function_size < 1 ||
	    fields->function_line > fields->function_size - (int64_t)sizeof(uint32_t) ||
	    !script_pieces_begin(record, fields->function_size, &pieces) ||
	    !script_pieces_next(&pieces, &name) || !script_pieces_next(&pieces, &file) ||
	    !script_pieces_next(&pieces, &class_head) || !script_pieces_next(&pieces, &class_name))
		return false;
	make_name(fields, &name, &class_name, ret->text.name);
	if (*bytes == INTERNAL_FUNCTION)
		return true;
	append(fields, &file, ret->text.file);
	ret->first_line = script_number(bytes + fields->function_line, sizeof(uint32_t));
	return true;
}
