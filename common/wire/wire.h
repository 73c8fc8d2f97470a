/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The protocol between the stages.
 *
 * A record is a header of 8 bytes and its fields, in the order of wire.def:
 *   - a number takes 8 bytes, little-endian;
 *   - TEXT has the size of wire.def, padded with zeros; its last byte is always zero;
 *   - anything else is a 64-bit count and its elements, padded with zeros to 8 bytes: at least
 *     one behind a STRING, so that it is a C string, and at least eight behind a BLOB, so that a
 *     reader of whole words may overrun its end.
 *
 * So every field lies at a multiple of 8, and a decoded record is a view: its strings, blobs and
 * arrays point into the decoded bytes, which must outlive it. One encoder and one decoder, which
 * also validates, work by a table for each record type (struct wire_type). A record has exactly one
 * encoding: decoding and encoding it again gives the same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire is little-endian and is used in place"
#endif

#define WIRE_MAGIC 0x7069706b63617473ULL
#define WIRE_VERSION_MAJOR 1
#define WIRE_VERSION_MINOR 15

enum {
	WIRE_RECORD_MAX = 256 * 1024, /* bytes of a record, header included */
	WIRE_TYPE_MAX = 256,	      /* record ids are below this */
	WIRE_FRAMES_MAX = 16000,      /* of a stack */
	WIRE_KERNEL_FRAMES_MAX = 512, /* of a sample */
	WIRE_STACK_ENDS_MAX = 32,     /* end reasons are below this */
	WIRE_EVENTS_MAX = 32,	      /* of a stream; readers drop events of larger numbers */
	WIRE_BUILD_ID_MAX = 64,	      /* bytes */
	WIRE_SEGMENT_WORDS = 3,	      /* of a segment in image_id */
	WIRE_SEGMENTS_MAX = 16,
	WIRE_NAME_MAX = 4096,		/* bytes of a function's or source file's name */
	WIRE_THREAD_CONTEXT_MAX = 1024, /* OTEP 4947 advises 640 at most */
	WIRE_PROCESS_CONTEXT_MAX = 65536,
	WIRE_WALK_MAX = 65536,
	WIRE_STACK_WORDS_MAX = 4096, /* of a sample */
	WIRE_MEMORY_MAX = 8192,
	WIRE_TRACE_ID_SIZE = 16,
	WIRE_SPAN_ID_SIZE = 8,
	WIRE_ATTRIBUTE_MAX = 255, /* bytes of a name or value, as in a thread context */
	WIRE_BLOB_PADDING = 8,	  /* at least so many zero bytes follow a blob */
};

/* Outcomes of decoding. Never an errno: the data is at fault. */
enum wire_outcome {
	WIRE_OK = 0,
	WIRE_E_MORE,	/* the record is not complete yet */
	WIRE_E_SIZE,	/* a size below the header, above WIRE_RECORD_MAX or not a multiple of 8 */
	WIRE_E_TYPE,	/* an id of WIRE_TYPE_MAX or above, or not the expected one */
	WIRE_E_SHORT,	/* ends before its last field, or within one */
	WIRE_E_LONG,	/* continues behind its last field */
	WIRE_E_LIMIT,	/* a string, blob or array longer than its limit, a number beyond 32 bits */
	WIRE_E_TEXT,	/* a zero byte within a string, or none behind a text */
	WIRE_E_PADDING, /* a padding byte or header flag that is not zero */
	WIRE_E_MAGIC,	/* not a stackpipe stream at all */
	WIRE_E_VERSION, /* a stream of another major version */
	WIRE_E_COMPRESSED, /* what cannot be decompressed */
};

/* One line for a message. */
const char *wire_outcome_text(enum wire_outcome outcome);

struct wire_header {
	uint32_t size; /* of the whole record */
	uint16_t type;
	uint16_t flags; /* zero */
};

/* A record as it lies in a buffer. */
struct wire_raw {
	const struct wire_header *header;
};

struct wire_string {
	const char *data; /* followed by a zero byte in a decoded record */
	size_t size;	  /* without that byte */
};

struct wire_blob {
	const void *data;
	size_t size;
};

struct wire_addrs {
	const uint64_t *data;
	size_t n;
};

/*
 * The C form of a field: FIELD(…, kind, field, detail, …) becomes WIRE_C_##kind(field, detail).
 * ARRAY(items) becomes a structure and leaves the rest to WIRE_C_FIELD.
 */
#define WIRE_C_FIELD(field, detail) field;
#define WIRE_C_U32(field, detail) uint32_t field;
#define WIRE_C_U64(field, detail) uint64_t field;
#define WIRE_C_ADDR(field, detail) uint64_t field;
#define WIRE_C_ENUM(field, detail) uint32_t field;
#define WIRE_C_FLAGS(field, detail) uint32_t field;
#define WIRE_C_TEXT(field, detail) char field[detail];
#define WIRE_C_STRING(field, detail) struct wire_string field;
#define WIRE_C_BLOB(field, detail) struct wire_blob field;
#define WIRE_C_ADDRS(field, detail) struct wire_addrs field;
#define WIRE_C_ARRAY(items) struct wire_##items WIRE_C_FIELD

/* Kinds: WIRE_U32 …, and for arrays WIRE_ARRAY(frames) … */
#define WIRE_ARRAY(items) WIRE_ARRAY_##items
#define KIND(kind, name, doc) WIRE_##kind,
#define ITEM(item, items, doc) WIRE_ARRAY_##items,
enum wire_kind {
#include "common/wire/wire.def"
};

/* Ids: WIRE_RECORD_hello … */
#define RECORD(record, id, doc) WIRE_RECORD_##record = id,
enum wire_record_id {
#include "common/wire/wire.def"
};

/* Names: WIRE_stack_end_COMPLETE …, and their texts in wire_names_stack_end. */
#define NAMES(set, doc)                                                                            \
	extern const struct wire_names wire_names_##set;                                           \
	enum wire_##set                                                                            \
	{
#define NAME(set, NAME_, number, text, doc) WIRE_##set##_##NAME_ = number,
#define NAMES_END(set)                                                                             \
	}                                                                                          \
	;
/* Structures: struct wire_hello, struct wire_frame and, for an array of these, wire_frames … */
#define ITEM(item, items, doc)                                                                     \
	struct wire_##items {                                                                      \
		const struct wire_##item *data;                                                    \
		size_t n;                                                                          \
	};                                                                                         \
	struct wire_##item {
#define RECORD(record, id, doc) struct wire_##record {
#define FIELD(record, kind, field, detail, since, doc) WIRE_C_##kind(field, detail)
#define RECORD_END(record)                                                                         \
	}                                                                                          \
	;
#include "common/wire/wire.def"

/* Room for a decoded record of any type. */
#define RECORD(record, id, doc) struct wire_##record record;
union wire_view {
#include "common/wire/wire.def"
};

/* How many samples a stack stands for. */
static inline uint64_t wire_stack_samples(const struct wire_stack *stack)
{
	return stack->n_samples ? stack->n_samples : 1;
}

/* Whether a record's fields determine its number of samples, so that it must be decoded. */
bool wire_samples_are_reported(uint16_t id);

/* How many samples a record counts as; reads `view` only if wire_samples_are_reported(). */
uint64_t wire_samples(uint16_t id, const void *view);

/* A kind of field, for documents. */
struct wire_kind_text {
	const char *name, *doc;
};

struct wire_name {
	uint32_t number;
	const char *text;
	const char *doc;
};

struct wire_names {
	const char *set;
	const char *doc;
	const struct wire_name *names;
	size_t n;
};

struct wire_field {
	const char *name;
	const char *doc;
	enum wire_kind kind;
	uint32_t offset;		/* in the C structure */
	uint32_t limit;			/* in elements; of a TEXT its size */
	uint32_t element;		/* bytes of an element; 0: not a STRING, BLOB or array */
	uint32_t since;			/* minor version */
	const struct wire_names *names; /* of ENUM and FLAGS */
};

struct wire_type {
	const char *name;
	const char *doc;
	uint16_t id;
	uint32_t view_size; /* of the C structure */
	const struct wire_field *fields;
	size_t n_fields;
};

/* All of wire.def, in its order. */
extern const struct wire_type *const wire_types[];
extern const size_t wire_n_types;
extern const struct wire_names *const wire_name_sets[];
extern const size_t wire_n_name_sets;
extern const struct wire_type *const wire_items[];
extern const size_t wire_n_items;
extern const struct wire_kind_text wire_kinds[]; /* indexed by enum wire_kind */
extern const size_t wire_n_kinds;

/* The type of an id; NULL: unknown. */
const struct wire_type *wire_type(uint16_t id);

/* The text of a number of a set; NULL: unknown. */
const char *wire_name_text(const struct wire_names *names, uint32_t number);

/* A blob that was left out of an encoded record, to be gathered from its own memory. */
struct wire_gap {
	const void *data;
	size_t size;   /* 0: nothing was left out */
	size_t offset; /* in the encoded bytes, where it belongs */
};

/* Encoded size of `view` (a struct wire_… of the type); 0: a field or the record is too large. */
size_t wire_encoded_size(const struct wire_type *type, const void *view);

/*
 * Encodes `view` at `ret`, which has room for wire_encoded_size() bytes and is aligned to 8, and
 * returns how many were written. The first blob of WIRE_GAP_MIN or more bytes is not copied, but
 * described in `ret_gap`, unless that is NULL.
 */
enum { WIRE_GAP_MIN = 1024 };
size_t wire_encode(const struct wire_type *type, const void *view, void *ret,
		   struct wire_gap *ret_gap);

/*
 * Validates the record at `record`, of which `size` bytes are there, and fills the view. Fields
 * that a later minor version appended may be missing at the end and are then zero; unknown fields
 * are accepted only if `peer_minor` is later than ours.
 */
enum wire_outcome wire_decode(const struct wire_type *type, const void *record, size_t size,
			      uint32_t peer_minor, void *ret_view);

/* Validates a header alone: WIRE_OK, WIRE_E_MORE, WIRE_E_SIZE, WIRE_E_TYPE or WIRE_E_PADDING. */
enum wire_outcome wire_check_header(const void *record, size_t size);

/* A wire string of a C string, cut at `limit` bytes; of NULL an empty one. */
struct wire_string wire_string(const char *text, size_t limit);
