/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The encoder and the decoder of records, which work by the tables of wire.c. */
#include <assert.h>
#include <string.h>

#include "common/wire/wire.h"

/* Every STRING, BLOB and array of a view begins with these members (see wire.h). */
struct __attribute__((may_alias)) span {
	const void *data;
	size_t n;
};

static size_t round_up_8(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

/* Bytes of padding behind a field of `size` bytes. */
static size_t padding_after(enum wire_kind kind, size_t size)
{
	size_t least = kind == WIRE_BLOB ? WIRE_BLOB_PADDING : kind == WIRE_STRING;

	return round_up_8(size + least) - size;
}

static uint64_t scalar_of(const struct wire_field *field, const void *view)
{
	const void *at = (const char *)view + field->offset;

	if (field->kind == WIRE_U64 || field->kind == WIRE_ADDR)
		return *(const uint64_t *)at;
	return *(const uint32_t *)at;
}

static const struct span *span_of(const struct wire_field *field, const void *view)
{
	return (const struct span *)((const char *)view + field->offset);
}

size_t wire_encoded_size(const struct wire_type *type, const void *view)
{
	size_t size = sizeof(struct wire_header);

	for (const struct wire_field *field = type->fields; field < type->fields + type->n_fields;
	     field++) {
		size_t element = field->element;

		if (element) {
			const struct span *span = span_of(field, view);

			if (span->n > field->limit)
				return 0;
			size += sizeof(uint64_t) + span->n * element +
				padding_after(field->kind, span->n * element);
		} else {
			size += field->kind == WIRE_TEXT ? field->limit : sizeof(uint64_t);
		}
	}
	return size <= WIRE_RECORD_MAX ? size : 0;
}

/* Behind a gap, which is not in `ret`, words there may be unaligned. */
static char *put_word(char *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
	return at + sizeof(word);
}

static char *put_span(char *at, const struct wire_field *field, const struct span *span,
		      struct wire_gap *gap, const char *record)
{
	size_t size = span->n * field->element;
	size_t padding = padding_after(field->kind, size);

	at = put_word(at, span->n);
	if (gap && !gap->size && field->kind == WIRE_BLOB && size >= WIRE_GAP_MIN) {
		*gap = (struct wire_gap){ span->data, size, at - record };
	} else {
		if (size)
			memcpy(at, span->data, size);
		at += size;
	}
	memset(at, 0, padding);
	return at + padding;
}

size_t wire_encode(const struct wire_type *type, const void *view, void *ret,
		   struct wire_gap *ret_gap)
{
	struct wire_header *header = ret;
	char *at = (char *)(header + 1);

	if (ret_gap)
		*ret_gap = (struct wire_gap){ 0 };
	for (const struct wire_field *field = type->fields; field < type->fields + type->n_fields;
	     field++) {
		if (field->element) {
			at = put_span(at, field, span_of(field, view), ret_gap, ret);
		} else if (field->kind == WIRE_TEXT) {
			const char *text = (const char *)view + field->offset;
			size_t size = strnlen(text, field->limit - 1);

			memcpy(at, text, size);
			memset(at + size, 0, field->limit - size);
			at += field->limit;
		} else {
			at = put_word(at, scalar_of(field, view));
		}
	}
	*header = (struct wire_header){ .type = type->id };
	header->size = at - (char *)ret + (ret_gap ? ret_gap->size : 0);
	return at - (char *)ret;
}

enum wire_outcome wire_check_header(const void *record, size_t size)
{
	const struct wire_header *header = record;

	if (size < sizeof(*header))
		return WIRE_E_MORE;
	if (header->size < sizeof(*header) || header->size > WIRE_RECORD_MAX || header->size % 8)
		return WIRE_E_SIZE;
	if (header->type == 0 || header->type >= WIRE_TYPE_MAX)
		return WIRE_E_TYPE;
	if (header->flags)
		return WIRE_E_PADDING;
	return header->size <= size ? WIRE_OK : WIRE_E_MORE;
}

static bool all_zero(const char *at, size_t size)
{
	for (; size; at++, size--)
		if (*at)
			return false;
	return true;
}

static enum wire_outcome get_scalar(const struct wire_field *field, const char **at,
				    const char *end, void *view)
{
	uint64_t value;

	if (end - *at < (ptrdiff_t)sizeof(value))
		return WIRE_E_SHORT;
	value = *(const uint64_t *)*at;
	*at += sizeof(value);
	if (field->kind == WIRE_U64 || field->kind == WIRE_ADDR)
		*(uint64_t *)((char *)view + field->offset) = value;
	else if (value > UINT32_MAX)
		return WIRE_E_LIMIT;
	else
		*(uint32_t *)((char *)view + field->offset) = value;
	return WIRE_OK;
}

static enum wire_outcome get_text(const struct wire_field *field, const char **at, const char *end,
				  void *view)
{
	size_t size;

	if (end - *at < (ptrdiff_t)field->limit)
		return WIRE_E_SHORT;
	size = strnlen(*at, field->limit);
	if (size == field->limit)
		return WIRE_E_TEXT;
	if (!all_zero(*at + size, field->limit - size))
		return WIRE_E_PADDING;
	memcpy((char *)view + field->offset, *at, field->limit);
	*at += field->limit;
	return WIRE_OK;
}

static enum wire_outcome get_span(const struct wire_field *field, const char **at, const char *end,
				  void *view)
{
	struct span *span = (struct span *)((char *)view + field->offset);
	size_t element = field->element, size, padding;
	uint64_t n;

	if (end - *at < (ptrdiff_t)sizeof(n))
		return WIRE_E_SHORT;
	n = *(const uint64_t *)*at;
	*at += sizeof(n);
	if (n > field->limit)
		return WIRE_E_LIMIT;
	size = n * element;
	padding = padding_after(field->kind, size);
	if ((size_t)(end - *at) < size + padding)
		return WIRE_E_SHORT;
	if (field->kind == WIRE_STRING && memchr(*at, 0, size))
		return WIRE_E_TEXT;
	if (!all_zero(*at + size, padding))
		return WIRE_E_PADDING;
	*span = (struct span){ *at, n };
	*at += size + padding;
	return WIRE_OK;
}

static enum wire_outcome get_field(const struct wire_field *field, const char **at, const char *end,
				   void *view)
{
	if (field->element)
		return get_span(field, at, end, view);
	if (field->kind == WIRE_TEXT)
		return get_text(field, at, end, view);
	return get_scalar(field, at, end, view);
}

enum wire_outcome wire_decode(const struct wire_type *type, const void *record, size_t size,
			      uint32_t peer_minor, void *ret_view)
{
	const struct wire_header *header = record;
	const char *at = (const char *)(header + 1), *end = (const char *)record + size;
	enum wire_outcome outcome = wire_check_header(record, size);

	assert((uintptr_t)record % 8 == 0);
	if (outcome)
		return outcome;
	if (header->type != type->id)
		return WIRE_E_TYPE;
	end = (const char *)record + header->size;
	memset(ret_view, 0, type->view_size);
	for (const struct wire_field *field = type->fields; field < type->fields + type->n_fields;
	     field++) {
		if (at == end && field->since > 0)
			return WIRE_OK;
		outcome = get_field(field, &at, end, ret_view);
		if (outcome)
			return outcome;
	}
	return at == end || peer_minor > WIRE_VERSION_MINOR ? WIRE_OK : WIRE_E_LONG;
}
