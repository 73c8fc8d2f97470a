/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that are made from wire.def, for wire-codec.c. */
#include <stddef.h>
#include <string.h>

#include "common/wire/wire.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* A limit of zero divides by zero at compile time: no field of varying length is unlimited. */
#define LIMIT(detail) .limit = (detail) * (1 / !!(detail))
#define DETAIL_U32(detail)
#define DETAIL_U64(detail)
#define DETAIL_ADDR(detail)
#define DETAIL_ENUM(detail) .names = &wire_names_##detail,
#define DETAIL_FLAGS(detail) .names = &wire_names_##detail,
#define DETAIL_TEXT(detail) LIMIT(detail),
#define DETAIL_STRING(detail) LIMIT(detail), .element = 1,
#define DETAIL_BLOB(detail) LIMIT(detail), .element = 1,
#define DETAIL_ADDRS(detail) LIMIT(detail), .element = sizeof(uint64_t),
#define DETAIL_ARRAY(items) .element = sizeof(*((struct wire_##items *)NULL)->data), DETAIL_LIMIT
#define DETAIL_LIMIT(detail) LIMIT(detail),

/* First inclusion: the sets of names, and the fields of each item and record. */
#define NAMES(set, doc)                                                                            \
	static const char doc_of_##set[] = doc;                                                    \
	static const struct wire_name names_of_##set[] = {
#define NAME(set, NAME_, number, text, doc) { number, text, doc },
#define NAMES_END(set)                                                                             \
	}                                                                                          \
	;                                                                                          \
	const struct wire_names wire_names_##set = { #set, doc_of_##set, names_of_##set,           \
						     ARRAY_SIZE(names_of_##set) };
#define ITEM(item, items, doc) static const struct wire_field fields_of_##item[] = {
#define RECORD(record, id, doc) static const struct wire_field fields_of_##record[] = {
#define FIELD(record, kind_, field, detail, since_, doc_)                                          \
	{ .name = #field,                                                                          \
	  .doc = doc_,                                                                             \
	  .kind = WIRE_##kind_,                                                                    \
	  .offset = offsetof(struct wire_##record, field),                                         \
	  .since = since_,                                                                         \
	  DETAIL_##kind_(detail) },
#define RECORD_END(record)                                                                         \
	}                                                                                          \
	;
#include "common/wire/wire.def"

/* Second inclusion: the types. */
#define TYPE(type, id, doc)                                                                        \
	static const struct wire_type type_##type = { #type,                                       \
						      doc,                                         \
						      id,                                          \
						      sizeof(struct wire_##type),                  \
						      fields_of_##type,                            \
						      ARRAY_SIZE(fields_of_##type) };
#define ITEM(item, items, doc)                                                                     \
	TYPE(item, 0, doc)                                                                         \
	_Static_assert(sizeof(struct wire_##item) % 8 == 0, "items keep arrays aligned");
#define RECORD(record, id, doc)                                                                    \
	TYPE(record, id, doc)                                                                      \
	_Static_assert((id) > 0 && (id) < WIRE_TYPE_MAX, "a record's id");
#include "common/wire/wire.def"

/* Third inclusion: the lists of all of them. */
#define RECORD(record, id, doc) &type_##record,
const struct wire_type *const wire_types[] = {
#include "common/wire/wire.def"
};
const size_t wire_n_types = ARRAY_SIZE(wire_types);

#define ITEM(item, items, doc) &type_##item,
const struct wire_type *const wire_items[] = {
#include "common/wire/wire.def"
};
const size_t wire_n_items = ARRAY_SIZE(wire_items);

#define NAMES(set, doc) &wire_names_##set,
const struct wire_names *const wire_name_sets[] = {
#include "common/wire/wire.def"
};
const size_t wire_n_name_sets = ARRAY_SIZE(wire_name_sets);

_Static_assert(WIRE_BLOB_PADDING == 8, "as the kind of blobs says");
#define KIND(kind, name, doc) [WIRE_##kind] = { name, doc },
#define ITEM(item, items, doc) [WIRE_ARRAY_##items] = { #items, "8 bytes of count, the items" },
const struct wire_kind_text wire_kinds[] = {
#include "common/wire/wire.def"
};
const size_t wire_n_kinds = ARRAY_SIZE(wire_kinds);

/* A compiler refuses an id that is used twice here, and may only warn of it below. */
#define RECORD(record, id, doc)                                                                    \
	case id:                                                                                   \
		break;
static inline void check_ids(uint16_t id)
{
	switch (id) {
#include "common/wire/wire.def"
	}
}

#define RECORD(record, id, doc) [id] = &type_##record,
static const struct wire_type *const types_by_id[WIRE_TYPE_MAX] = {
#include "common/wire/wire.def"
};

uint64_t wire_samples(uint16_t id, const void *any_view)
{
	switch (id) {
#define SAMPLES(record, is_field, n)                                                               \
	case WIRE_RECORD_##record: {                                                               \
		const struct wire_##record *view __attribute__((unused)) = any_view;               \
		return n;                                                                          \
	}
#include "common/wire/wire.def"
	}
	return 0;
}

bool wire_samples_are_reported(uint16_t id)
{
	switch (id) {
#define SAMPLES(record, is_field, n)                                                               \
	case WIRE_RECORD_##record:                                                                 \
		return is_field;
#include "common/wire/wire.def"
	}
	return false;
}

const struct wire_type *wire_type(uint16_t id)
{
	return id < WIRE_TYPE_MAX ? types_by_id[id] : NULL;
}

const char *wire_name_text(const struct wire_names *names, uint32_t number)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->names[i].number == number)
			return names->names[i].text;
	return NULL;
}

const char *wire_outcome_text(enum wire_outcome outcome)
{
	switch (outcome) {
	case WIRE_OK:
		return "it is valid";
	case WIRE_E_MORE:
		return "it is incomplete";
	case WIRE_E_SIZE:
		return "its size is invalid";
	case WIRE_E_TYPE:
		return "its type is invalid";
	case WIRE_E_SHORT:
		return "it ends before its last field";
	case WIRE_E_LONG:
		return "it continues after its last field";
	case WIRE_E_LIMIT:
		return "a field exceeds its limit";
	case WIRE_E_TEXT:
		return "a text is not terminated correctly";
	case WIRE_E_PADDING:
		return "its padding is not zero";
	case WIRE_E_MAGIC:
		return "it is not a stackpipe stream";
	case WIRE_E_COMPRESSED:
		return "its compressed data is damaged, or needs more than 8 MiB to decompress";
	case WIRE_E_VERSION:
		return "the stream has a different protocol version";
	}
	return "it is damaged";
}

struct wire_string wire_string(const char *text, size_t limit)
{
	return text ? (struct wire_string){ text, strnlen(text, limit) }
		    : (struct wire_string){ "", 0 };
}
