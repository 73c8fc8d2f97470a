/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/stream/runtime-table.h"

/* Fields are within what one record can have of an object. */
#define FIELD_MAX WIRE_MEMORY_MAX

/* What all had before builds without the GIL. */
enum { OBJECT_HEAD = 16, TEXT_KIND = 2, TEXT_KIND_MAX = 24, WORD = 8 };

struct field_name {
	const char *name;
	size_t at;
	bool is_address;
};

#define FIELD_NAME(name, member)                                                                   \
	{                                                                                          \
		name, offsetof(struct cpython_fields, member), false                               \
	}

#define ADDRESS_NAME(name, member)                                                                 \
	{                                                                                          \
		name, offsetof(struct cpython_fields, member), true                                \
	}

static const struct field_name field_names[] = {
	FIELD_NAME("frame.code", frame_code),
	FIELD_NAME("frame.previous", frame_previous),
	FIELD_NAME("frame.instruction", frame_instruction),
	FIELD_NAME("frame.owner", frame_owner),
	FIELD_NAME("frame.entry", frame_entry),
	FIELD_NAME("frame.tags", frame_tags),
	FIELD_NAME("cframe.frame", cframe_frame),
	FIELD_NAME("cframe.previous", cframe_previous),
	FIELD_NAME("code.filename", code_filename),
	FIELD_NAME("code.qualname", code_qualname),
	FIELD_NAME("code.linetable", code_linetable),
	FIELD_NAME("code.firstline", code_firstline),
	FIELD_NAME("code.bytes", code_bytes),
	FIELD_NAME("code.size", code_size),
	FIELD_NAME("code.framesize", code_framesize),
	FIELD_NAME("code.stacksize", code_stacksize),
	FIELD_NAME("code.nlocalsplus", code_nlocalsplus),
	FIELD_NAME("frame.size", frame_size),
	FIELD_NAME("frame.index", frame_index),
	FIELD_NAME("frame.unit", frame_unit),
	FIELD_NAME("frame.state", frame_state),
	FIELD_NAME("frame.executing", frame_executing),
	FIELD_NAME("code.lines", code_lines),
	ADDRESS_NAME("loop.from", loop_from),
	ADDRESS_NAME("loop.to", loop_to),
	ADDRESS_NAME("loop.other.from", loop_other_from),
	ADDRESS_NAME("loop.other.to", loop_other_to),
	ADDRESS_NAME("code.type", code_type),
	FIELD_NAME("text", text),
	FIELD_NAME("bytes", bytes),
	FIELD_NAME("frame.copy", frame_copy),
	FIELD_NAME("object", object),
	FIELD_NAME("text.kind", text_kind),
};

enum { N_FIELDS = sizeof(field_names) / sizeof(*field_names) };

void runtime_table_deinit(struct runtime_table *table)
{
	struct process_runtime *runtime, *next;

	HASH_ITER(hh, table->by_process, runtime, next)
	{
		HASH_DEL(table->by_process, runtime);
		free(runtime);
	}
}

static const struct field_name *find_name(const char *text, size_t size)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if (strlen(field_names[i].name) == size && !memcmp(field_names[i].name, text, size))
			return &field_names[i];
	return NULL;
}

/* Reads NAME=NUMBER. False: it is known, and damaged. */
static bool read_field(const char *text, size_t size, struct cpython_fields *fields)
{
	const char *equals = memchr(text, '=', size);
	const struct field_name *name = equals ? find_name(text, equals - text) : NULL;
	char number[24], *end;
	int64_t value;

	if (!name)
		return equals;
	size -= equals + 1 - text;
	if (!size || size >= sizeof(number))
		return false;
	memcpy(number, equals + 1, size);
	number[size] = 0;
	errno = 0;
	value = strtoll(number, &end, 10);
	if (*end || errno || value < -1 || (!name->is_address && value > FIELD_MAX))
		return false;
	*(int64_t *)((char *)fields + name->at) = value;
	return true;
}

static bool has_frames(const struct cpython_fields *fields)
{
	return fields->frame_instruction >= 0 && fields->frame_owner >= 0 &&
	       fields->frame_size >= 0 && fields->code_bytes >= 0;
}

static bool has_objects(const struct cpython_fields *fields)
{
	return fields->frame_index >= 0 && fields->frame_unit > 0 && fields->frame_state >= 0 &&
	       fields->loop_from >= 0 && fields->loop_from < fields->loop_to;
}

static bool read_fields(const struct wire_string *layout, struct cpython_fields *ret)
{
	const char *at = layout->data, *end = at + layout->size;

	memset(ret, -1, sizeof(*ret));
	while (at < end) {
		const char *space = memchr(at, ' ', end - at);
		size_t size = space ? (size_t)(space - at) : (size_t)(end - at);

		if (!read_field(at, size, ret))
			return false;
		at += size + !!space;
	}
	ret->object = ret->object < 0 ? OBJECT_HEAD : ret->object;
	ret->text_kind = ret->text_kind < 0 ? TEXT_KIND : ret->text_kind;
	return ret->frame_code >= 0 && ret->frame_previous >= 0 && ret->code_filename >= 0 &&
	       ret->code_qualname >= 0 && ret->code_linetable >= 0 && ret->code_firstline >= 0 &&
	       ret->code_size >= 0 && ret->code_type >= 0 && ret->text >= 0 && ret->bytes >= 0 &&
	       ret->object >= WORD && ret->text_kind <= TEXT_KIND_MAX &&
	       (ret->frame_unit >= 0 ? has_objects(ret) : has_frames(ret));
}

static int set(struct runtime_table *table, uint64_t process, const struct cpython_fields *fields)
{
	struct process_runtime *runtime;

	HASH_FIND(hh, table->by_process, &process, sizeof(process), runtime);
	if (!runtime && HASH_COUNT(table->by_process) >= RUNTIME_TABLE_MAX) {
		table->n_refused++;
		return 0;
	}
	if (!runtime) {
		runtime = calloc(1, sizeof(*runtime));
		if (!runtime)
			return -ENOMEM;
		runtime->process = process;
		HASH_ADD(hh, table->by_process, process, sizeof(process), runtime);
		if (!HASH_HAS(hh, runtime)) {
			free(runtime);
			return -ENOMEM;
		}
	}
	runtime->fields = *fields;
	return 0;
}

int runtime_table_add(struct runtime_table *table, const struct wire_runtime *record)
{
	static const char kind[] = "cpython";
	struct cpython_fields fields;

	if (record->kind.size != strlen(kind) || memcmp(record->kind.data, kind, strlen(kind)))
		return 0; /* a later version's */
	if (!read_fields(&record->layout, &fields)) {
		table->n_refused++;
		return 0;
	}
	return set(table, record->process, &fields);
}

int runtime_table_fork(struct runtime_table *table, const struct wire_process *record)
{
	const struct cpython_fields *fields = record->origin == WIRE_origin_FORKED
						      ? runtime_table_find(table, record->parent)
						      : NULL;

	return fields ? set(table, record->process, fields) : 0;
}

void runtime_table_forget(struct runtime_table *table, uint64_t process)
{
	struct process_runtime *runtime;

	HASH_FIND(hh, table->by_process, &process, sizeof(process), runtime);
	if (!runtime)
		return;
	HASH_DEL(table->by_process, runtime);
	free(runtime);
}

const struct cpython_fields *runtime_table_find(const struct runtime_table *table, uint64_t process)
{
	const struct process_runtime *runtime;

	HASH_FIND(hh, table->by_process, &process, sizeof(process), runtime);
	return runtime ? &runtime->fields : NULL;
}
