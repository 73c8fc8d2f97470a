/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/hotspot-pieces.h"
#include "common/script/unsigned5.h"
#include "symbolizer/script/hotspot-method.h"

enum {
	HAS_LINES = 1, /* ConstMethod's flags */
	/* A table of lines (CompressedLineNumberReadStream): a byte that ends it, one behind which
	 * two numbers follow, or the steps themselves. */
	LINES_END = 0,
	LINES_NUMBERS = 0xff,
	LINES_PLACE_SHIFT = 3,
	LINES_LINE_MASK = 7,
};

/* A name (Symbol). False: not all of it is there. */
static bool read_name(const struct hotspot_fields *fields, const struct wire_blob *piece,
		      struct wire_blob *ret)
{
	uint16_t length;

	if (!memory_field(piece, fields->text_length, &length, sizeof(length)) ||
	    piece->size < (size_t)fields->text || !length)
		return false;
	*ret = (struct wire_blob){ (const char *)piece->data + fields->text,
				   piece->size - fields->text };
	if (length < ret->size)
		ret->size = length;
	return true;
}

static void append(char to[SCRIPT_TEXT_MAX], const char *text, size_t size)
{
	size_t used = strlen(to), room = SCRIPT_TEXT_MAX - 1 - used;

	memcpy(to + used, text, size < room ? size : room);
	to[used + (size < room ? size : room)] = 0;
}

/*
 * The name of a class that has been made as the program runs ends with an address, as in
 * `Main$$Lambda$17/0x0000000800c03840` (or with a plus sign), which is another one each time.
 */
static size_t without_address(const struct wire_blob *class_name)
{
	static const char hex[] = "0123456789abcdef";
	const char *text = class_name->data;
	size_t n = class_name->size;

	while (n && strchr(hex, text[n - 1]))
		n--;
	if (n < 3 || n == class_name->size || memcmp(text + n - 2, "0x", 2) != 0 ||
	    !strchr("/+", text[n - 3]))
		return class_name->size;
	return n - 3;
}

/* As stack traces have it: `java.util.HashMap.put`. */
static void make_name(const struct wire_blob *class_name, const struct wire_blob *name,
		      char ret[SCRIPT_TEXT_MAX])
{
	append(ret, class_name->data, without_address(class_name));
	for (char *c = ret; *c; c++)
		if (*c == '/')
			*c = '.';
	append(ret, ".", 1);
	append(ret, name->data, name->size);
}

/* The file lies in its package: `java/util/HashMap.java`. */
static void make_file(const struct wire_blob *class_name, const struct wire_blob *file,
		      char ret[SCRIPT_TEXT_MAX])
{
	const char *slash = memrchr(class_name->data, '/', class_name->size);

	if (slash)
		append(ret, class_name->data, slash + 1 - (const char *)class_name->data);
	append(ret, file->data, file->size);
}

static void find_lines(const struct hotspot_fields *fields, const struct wire_blob *code,
		       struct script_lines *ret)
{
	uint16_t size;
	uint8_t flags;

	if (!memory_field(code, fields->const_code, &size, sizeof(size)) ||
	    !memory_field(code, fields->const_flags, &flags, sizeof(flags)) ||
	    !(flags & HAS_LINES) || code->size <= (uint64_t)fields->const_size + size)
		return;
	ret->form = fields->excluded;
	ret->bytes = (const uint8_t *)code->data + fields->const_size + size;
	ret->size = code->size - fields->const_size - size;
}

bool hotspot_method_decode(const struct hotspot_fields *fields, const struct wire_memory *record,
			   struct hotspot_method *ret)
{
	struct wire_blob piece[HOTSPOT_METHOD_PIECES_MAX], name, class_name, file;
	struct memory_pieces pieces;

	memset(ret, 0, sizeof(*ret));
	if (!hotspot_is_method(fields, record) ||
	    !memory_pieces_begin(&record->bytes, fields->method_size, &pieces))
		return false;
	for (size_t i = 0; i < HOTSPOT_METHOD_PIECES_MAX; i++)
		if (!memory_pieces_next(&pieces, &piece[i]))
			return false;
	if (!read_name(fields, &piece[HOTSPOT_METHOD_NAME], &name) ||
	    !read_name(fields, &piece[HOTSPOT_METHOD_CLASS_NAME], &class_name))
		return true; /* not in memory */
	make_name(&class_name, &name, ret->text.name);
	if (read_name(fields, &piece[HOTSPOT_METHOD_FILE], &file))
		make_file(&class_name, &file, ret->text.file);
	find_lines(fields, &piece[HOTSPOT_METHOD_CODE], &ret->lines);
	return true;
}

static int32_t signed_of(uint32_t number)
{
	return (int32_t)(number >> 1 ^ -(number & 1));
}

/* The next entry, of which each has the distance to the one before. False: there is none. */
static bool read_entry(const struct script_lines *lines, const uint8_t **at, int64_t *place,
		       int64_t *line)
{
	const uint8_t *end = lines->bytes + lines->size;
	uint32_t numbers[2];
	uint8_t byte;

	if (*at == end || *(*at) == LINES_END)
		return false;
	byte = *(*at)++;
	if (byte != LINES_NUMBERS) {
		*place += byte >> LINES_PLACE_SHIFT;
		*line += byte & LINES_LINE_MASK;
		return true;
	}
	if (!unsigned5_read(at, end, lines->form, &numbers[0]) ||
	    !unsigned5_read(at, end, lines->form, &numbers[1]))
		return false;
	*place += signed_of(numbers[0]);
	*line += signed_of(numbers[1]);
	return true;
}

/* The last entry in front of the place counts, in any order. */
uint32_t hotspot_lines_find(const struct script_lines *lines, uint64_t place)
{
	int64_t at_place = 0, line = 0, best_place = -1, best = 0;
	const uint8_t *at = lines->bytes;
	bool is_behind = false;

	if (!place || !at)
		return 0;
	while (read_entry(lines, &at, &at_place, &line)) {
		is_behind |= at_place >= (int64_t)place;
		if (at_place < (int64_t)place && at_place >= best_place) {
			best_place = at_place;
			best = line;
		}
	}
	/* Of a table that is cut, what comes behind its last entry is not known. */
	if (!is_behind && (at == lines->bytes + lines->size || *at != LINES_END))
		return 0;
	return best > 0 && best <= UINT16_MAX ? best : 0;
}
