/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/stream/perl-pieces.h"
#include "symbolizer/script/perl-sub.h"

enum {
	HAS_NAME = 0x8000, /* of a sub's flags (cv.h): it is not its glob that has the name */
	/* HEK (hv.h): its length, and its characters. */
	KEY_LENGTH = 4,
	KEY_TEXT = 8,
};

/* The pieces behind a sub's body, in the order of perf-source/context/perl.c. */
enum piece {
	GLOB,
	GLOB_BODY,
	GLOB_NAME,
	GLOB_STASH,
	GLOB_STASH_BODY,
	GLOB_STASH_NAME,
	GLOB_STASH_NAMES,
	SUB_STASH,
	SUB_STASH_BODY,
	SUB_STASH_NAME,
	SUB_STASH_NAMES,
	FILE_NAME,
	PIECES,
};

/* Appends a text up to its first zero. */
static void append(const char *text, size_t size, char to[SCRIPT_TEXT_MAX])
{
	size_t used = strlen(to), room = SCRIPT_TEXT_MAX - 1 - used, n = strnlen(text, size);

	memcpy(to + used, text, n < room ? n : room);
}

/* False: the key is not there. */
static bool append_key(const struct wire_blob *key, char to[SCRIPT_TEXT_MAX])
{
	size_t n_read;
	uint32_t length;

	if (!memory_field(key, KEY_LENGTH, &length, sizeof(length)) || key->size <= KEY_TEXT ||
	    !length)
		return false;
	n_read = key->size - KEY_TEXT;
	append((const char *)key->data + KEY_TEXT, length < n_read ? length : n_read, to);
	return true;
}

/* The name of a package, whose body says whether it has one or several, of which the first counts.
 */
static bool append_package(const struct perl_fields *fields, const struct wire_blob *body,
			   const struct wire_blob *name, const struct wire_blob *first,
			   char to[SCRIPT_TEXT_MAX])
{
	uint32_t count;

	return memory_field(body, fields->sub_count, &count, sizeof(count)) &&
	       append_key(count ? first : name, to);
}

/* A sub whose name, or package, was not in memory gets none: it would be that of another one. */
static void make_name(const struct perl_fields *fields, const struct wire_blob *body,
		      const struct wire_blob pieces[PIECES], char ret[SCRIPT_TEXT_MAX])
{
	static const char separator[] = "::";
	uint32_t flags;
	bool has_name;
	size_t stash;

	if (!memory_field(body, fields->sub_flags, &flags, sizeof(flags)))
		return;
	has_name = flags & HAS_NAME;
	stash = has_name ? SUB_STASH : GLOB_STASH;
	if (append_package(fields, &pieces[stash + 1], &pieces[stash + 2], &pieces[stash + 3],
			   ret) &&
	    strlen(ret) + strlen(separator) < SCRIPT_TEXT_MAX) {
		strcat(ret, separator);
		if (append_key(&pieces[has_name ? GLOB : GLOB_NAME], ret))
			return;
	}
	*ret = 0;
}

static void decode_position(const struct perl_fields *fields, const struct wire_memory *record,
			    struct script_code_text *ret)
{
	static const char eval[] = "(eval ";
	struct memory_pieces pieces;
	struct wire_blob file;

	if (!memory_pieces_begin(&record->bytes, fields->cop_size, &pieces) ||
	    !memory_pieces_next(&pieces, &file) || !file.size)
		return;
	append(file.data, file.size, ret->file);
	strcpy(ret->name, strncmp(ret->file, eval, strlen(eval)) ? "{main}" : "{eval}");
}

void perl_sub_decode(const struct perl_fields *fields, const struct wire_memory *record,
		     struct script_code_text *ret)
{
	struct wire_blob body, blobs[PIECES] = { 0 };
	struct memory_pieces pieces;

	*ret = (struct script_code_text){ 0 };
	if (!perl_begin_sub(fields, record, &pieces, &body)) {
		decode_position(fields, record, ret);
		return;
	}
	for (size_t i = 0; i < PIECES; i++)
		if (!memory_pieces_next(&pieces, &blobs[i]))
			return;
	make_name(fields, &body, blobs, ret->name);
	append(blobs[FILE_NAME].data, blobs[FILE_NAME].size, ret->file);
}
