/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "common/base/text.h"
#include "common/stream/heap-events.h"
#include "frame-dump/record-text.h"

enum { TEXT_MAX = TEXT_CLEAN_SIZE(8192) };

static void print_string(FILE *out, const char *text, size_t size)
{
	char clean[TEXT_MAX];

	text_clean(text, size, clean, sizeof(clean));
	fputc('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

static void print_enum(FILE *out, const struct wire_names *names, uint32_t number)
{
	const char *text = wire_name_text(names, number);

	if (text)
		fputs(text, out);
	else
		fprintf(out, "%" PRIu32, number);
}

/* Prints the names of set bits, joined by '+'; '-' for none. */
static void print_flags(FILE *out, const struct wire_names *names, uint32_t flags)
{
	const char *between = "";

	for (size_t i = 0; i < names->n; i++) {
		if (!(flags & names->names[i].number))
			continue;
		fprintf(out, "%s%s", between, names->names[i].text);
		between = "+";
		flags &= ~names->names[i].number;
	}
	if (flags)
		fprintf(out, "%s0x%" PRIx32, between, flags);
	else if (!*between)
		fputc('-', out);
}

static void print_addrs(FILE *out, const struct wire_addrs *addrs)
{
	fputc('[', out);
	for (size_t i = 0; i < addrs->n; i++)
		fprintf(out, "%s0x%" PRIx64, i ? " " : "", addrs->data[i]);
	fputc(']', out);
}

static void print_frames(FILE *out, const struct wire_frames *frames)
{
	fputc('[', out);
	for (size_t i = 0; i < frames->n; i++) {
		const struct wire_frame *frame = &frames->data[i];

		fprintf(out, "%s0x%" PRIx64 "@%" PRIu32, i ? " " : "", frame->address,
			frame->mapping);
		if (frame->flags) {
			fputc(':', out);
			print_flags(out, &wire_names_frame_flags, frame->flags);
		}
	}
	fputc(']', out);
}

static void print_totals(FILE *out, const struct wire_totals *totals)
{
	fputc('[', out);
	for (size_t i = 0; i < totals->n; i++) {
		const struct wire_type *type = totals->data[i].type < WIRE_TYPE_MAX
						       ? wire_type(totals->data[i].type)
						       : NULL;

		fputs(i ? " " : "", out);
		if (type)
			fputs(type->name, out);
		else
			fprintf(out, "%" PRIu64, totals->data[i].type);
		fprintf(out, ":%" PRIu64, totals->data[i].n);
	}
	fputc(']', out);
}

static void print_values(FILE *out, const struct wire_values *values)
{
	fputc('[', out);
	for (size_t i = 0; i < values->n; i++)
		fprintf(out, "%s%" PRIu64 ":%" PRIu64, i ? " " : "", values->data[i].counter,
			values->data[i].value);
	fputc(']', out);
}

static void print_words(FILE *out, const struct wire_words *words)
{
	fputc('[', out);
	for (size_t i = 0; i < words->n; i++)
		fprintf(out, "%s0x%" PRIx64 ":0x%" PRIx64, i ? " " : "", words->data[i].address,
			words->data[i].value);
	fputc(']', out);
}

static void print_blob(FILE *out, const struct wire_blob *blob)
{
	fprintf(out, "%zu:%08lx", blob->size, crc32(crc32(0, NULL, 0), blob->data, blob->size));
}

static void print_field(FILE *out, const struct wire_field *field, const void *at)
{
	const struct wire_string *string = at;

	switch (field->kind) {
	case WIRE_U32:
		fprintf(out, "%" PRIu32, *(const uint32_t *)at);
		break;
	case WIRE_U64:
		fprintf(out, "%" PRIu64, *(const uint64_t *)at);
		break;
	case WIRE_ADDR:
		fprintf(out, "0x%" PRIx64, *(const uint64_t *)at);
		break;
	case WIRE_ENUM:
		print_enum(out, field->names, *(const uint32_t *)at);
		break;
	case WIRE_FLAGS:
		print_flags(out, field->names, *(const uint32_t *)at);
		break;
	case WIRE_TEXT:
		print_string(out, at, strnlen(at, field->limit));
		break;
	case WIRE_STRING:
		print_string(out, string->data, string->size);
		break;
	case WIRE_BLOB:
		print_blob(out, at);
		break;
	case WIRE_ADDRS:
		print_addrs(out, at);
		break;
	case WIRE_ARRAY(frames):
		print_frames(out, at);
		break;
	case WIRE_ARRAY(totals):
		print_totals(out, at);
		break;
	case WIRE_ARRAY(values):
		print_values(out, at);
		break;
	case WIRE_ARRAY(words):
		print_words(out, at);
		break;
	}
}

void record_text_print(FILE *out, const struct wire_type *type, const void *view)
{
	fputs(type->name, out);
	for (size_t i = 0; i < type->n_fields; i++) {
		const struct wire_field *field = &type->fields[i];

		fprintf(out, " %s=", field->name);
		print_field(out, field, (const char *)view + field->offset);
	}
	fputc('\n', out);
}

void record_text_print_unknown(FILE *out, const struct wire_raw *raw)
{
	fprintf(out, "unknown type=%" PRIu16 " size=%" PRIu32 "\n", raw->header->type,
		raw->header->size);
}

static const char *heap_event_name(enum heap_event_kind kind)
{
	static const char *const names[] = {
		[HEAP_EVENT_ALLOCATED] = "allocated", [HEAP_EVENT_FREED] = "freed",
		[HEAP_EVENT_RELEASED] = "released",   [HEAP_EVENT_RESTORED] = "restored",
		[HEAP_EVENT_MAPPED] = "mapped",	      [HEAP_EVENT_UNMAPPED] = "unmapped",
		[HEAP_EVENT_REMAINED] = "remained",
	};

	return names[kind];
}

void record_text_print_heap_events(FILE *out, const struct wire_heap_events *record)
{
	struct heap_event_reader reader = heap_event_reader(record);
	struct heap_event event;

	while (heap_event_next(&reader, &event)) {
		fprintf(out,
			"heap_event time=%" PRIu64 " process=%" PRIu64 " tid=%" PRIu32
			" %s address=0x%" PRIx64,
			event.time, record->process, event.tid, heap_event_name(event.kind),
			event.address);
		if (heap_event_has_size(event.kind))
			fprintf(out, " size=%" PRIu64 " stack=%" PRIu32, event.size, event.stack);
		if (event.kind == HEAP_EVENT_ALLOCATED && event.interval)
			fprintf(out, " interval=%" PRIu64, event.interval);
		fputc('\n', out);
	}
	if (reader.is_damaged)
		fprintf(out, "heap_event damaged\n");
}
