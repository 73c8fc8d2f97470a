/* SPDX-License-Identifier: GPL-3.0-or-later */
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
	length = memory_number((const char *)string->data + fields->text_length, sizeof(length));
	length = length < n_read ? length : n_read;
	length = strnlen((const char *)string->data + fields->text, length);
	memcpy(to + used, (const char *)string->data + fields->text, length < room ? length : room);
}

static bool has_pointer(const struct wire_memory *record, int64_t at)
{
	return memory_number((const char *)record->bytes.data + at, sizeof(uint64_t));
}

/*
 * What a file has outside of functions has no name. A function whose name, or class, was not in
 * memory gets none: it would be that of another one.
 */
static void make_name(const struct php_fields *fields, const struct wire_memory *record,
		      const struct wire_blob *name, const struct wire_blob *class_name,
		      char ret[SCRIPT_TEXT_MAX])
{
	static const char separator[] = "::";
	bool has_class = has_pointer(record, fields->function_class);

	if (!has_pointer(record, fields->function_name)) {
		strcpy(ret, "{main}");
		return;
	}
	if (!name->size || (has_class && !class_name->size))
		return;
	append(fields, class_name, ret);
	if (has_class && strlen(ret) + strlen(separator) < SCRIPT_TEXT_MAX)
		strcat(ret, separator);
	append(fields, name, ret);
}

/* Whether what is recorded of a function itself holds `size` bytes at an offset. */
static bool has_field(const struct php_fields *fields, int64_t at, size_t size)
{
	return at <= fields->function_size - (int64_t)size;
}

bool php_function_decode(const struct php_fields *fields, const struct wire_memory *record,
			 struct php_function *ret)
{
	const char *bytes = record->bytes.data;
	struct memory_pieces pieces;
	struct wire_blob name, file, class_head, class_name;

	*ret = (struct php_function){ 0 };
	if (fields->function_size < 1 ||
	    !has_field(fields, fields->function_line, sizeof(uint32_t)) ||
	    !has_field(fields, fields->function_name, sizeof(uint64_t)) ||
	    !has_field(fields, fields->function_class, sizeof(uint64_t)) ||
	    !memory_pieces_begin(&record->bytes, fields->function_size, &pieces) ||
	    !memory_pieces_next(&pieces, &name) || !memory_pieces_next(&pieces, &file) ||
	    !memory_pieces_next(&pieces, &class_head) || !memory_pieces_next(&pieces, &class_name))
		return false;
	make_name(fields, record, &name, &class_name, ret->text.name);
	if (*bytes == INTERNAL_FUNCTION)
		return true;
	append(fields, &file, ret->text.file);
	ret->first_line = memory_number(bytes + fields->function_line, sizeof(uint32_t));
	return true;
}
