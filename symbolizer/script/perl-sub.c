/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/script/perl-pieces.h"
#include "symbolizer/script/perl-sub.h"

enum {
	HAS_NAME = 0x8000, /* of a sub's flags (cv.h): it is not its glob that has the name */
	/* HEK (hv.h): its length, and its characters. */
	KEY_LENGTH = 4,
	KEY_TEXT = 8,
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

/* The name of a package. Behind it are its body, its name, and the first of several. */
static bool append_package(const struct perl_fields *fields, const struct wire_blob *stash,
			   char to[SCRIPT_TEXT_MAX])
{
	uint32_t count;

	return memory_field(&stash[1], fields->sub_count, &count, sizeof(count)) &&
	       append_key(count ? &stash[3] : &stash[2], to);
}

/* A sub whose name, or package, was not in memory gets none: it would be that of another one. */
static void make_name(const struct perl_fields *fields,
		      const struct wire_blob piece[PERL_SUB_PIECES_MAX], char ret[SCRIPT_TEXT_MAX])
{
	static const char separator[] = "::";
	uint32_t flags;
	bool has_name;

	if (!memory_field(&piece[PERL_SUB_BODY], fields->sub_flags, &flags, sizeof(flags)))
		return;
	has_name = flags & HAS_NAME;
	if (append_package(fields, &piece[has_name ? PERL_SUB_STASH : PERL_SUB_GLOB_STASH], ret) &&
	    strlen(ret) + strlen(separator) < SCRIPT_TEXT_MAX) {
		strcat(ret, separator);
		if (append_key(&piece[has_name ? PERL_SUB_GLOB : PERL_SUB_GLOB_NAME], ret))
			return;
	}
	*ret = 0;
}

/* The file of a position: a text; or, without threads, the name of a glob, behind a mark. */
static void append_file(const struct perl_fields *fields, struct memory_pieces *pieces,
			char to[SCRIPT_TEXT_MAX])
{
	static const char mark[] = "_<"; /* gv_fetchfile(3perl) */
	struct wire_blob piece[PERL_COP_PIECES_MAX] = { 0 };
	size_t n = fields->interpreter_cop >= 0 ? 1 : PERL_COP_PIECES_MAX;

	for (size_t i = 0; i < n; i++)
		if (!memory_pieces_next(pieces, &piece[i]))
			return;
	if (n == 1) {
		append(piece[0].data, piece[0].size, to);
		return;
	}
	append_key(&piece[PERL_COP_GLOB_NAME], to);
	if (!strncmp(to, mark, strlen(mark)))
		memmove(to, to + strlen(mark), strlen(to) - strlen(mark) + 1);
	else
		*to = 0;
}

static void decode_position(const struct perl_fields *fields, const struct wire_memory *record,
			    struct script_code_text *ret)
{
	static const char eval[] = "(eval ";
	struct memory_pieces pieces;

	if (!memory_pieces_begin(&record->bytes, fields->cop_size, &pieces))
		return;
	append_file(fields, &pieces, ret->file);
	if (!*ret->file)
		return;
	strcpy(ret->name, strncmp(ret->file, eval, strlen(eval)) ? "{main}" : "{eval}");
}

void perl_sub_decode(const struct perl_fields *fields, const struct wire_memory *record,
		     struct script_code_text *ret)
{
	struct wire_blob piece[PERL_SUB_PIECES_MAX] = { 0 };
	struct memory_pieces pieces;

	*ret = (struct script_code_text){ 0 };
	if (!perl_begin_sub(fields, record, &pieces, &piece[PERL_SUB_BODY])) {
		decode_position(fields, record, ret);
		return;
	}
	for (size_t i = PERL_SUB_BODY + 1; i < PERL_SUB_PIECES_MAX; i++)
		if (!memory_pieces_next(&pieces, &piece[i]))
			return;
	make_name(fields, piece, ret->name);
	append(piece[PERL_SUB_FILE].data, piece[PERL_SUB_FILE].size, ret->file);
}
