/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/file/compression.h"
#include "perfdata-source/header.h"

enum {
	FILE_HEADER = 104,
	PIPE_HEADER = 16,
	BUILD_ID_EVENT = 36, /* header, pid, 24 bytes for the id; the path follows */
	MISC_BUILD_ID_SIZE = 1 << 15,
	MISC_MODE = 7, /* PERF_RECORD_MISC_CPUMODE_MASK */
};

static const char magic[8] = "PERFILE2", swapped_magic[8] = "2ELIFREP";

/* A range of the file. */
struct section {
	uint64_t offset, size;
};

static uint32_t half_word(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static void take_build_id(struct perf_header *header, const uint8_t *at, size_t size)
{
	struct header_build_id *build_id;
	uint16_t misc;

	if (size <= BUILD_ID_EVENT || header->n_build_ids == HEADER_BUILD_IDS_MAX) {
		header->n_skipped++;
		return;
	}
	if (GROWING_LIST_MAKE_ROOM(header->build_ids, header->n_build_ids) < 0)
		return;
	build_id = &header->build_ids[header->n_build_ids];
	memcpy(&misc, at + 4, sizeof(misc));
	build_id->is_kernel = (misc & MISC_MODE) == PERF_RECORD_MISC_KERNEL;
	build_id->size = misc & MISC_BUILD_ID_SIZE ? at[12 + BUILD_ID_BYTES] : BUILD_ID_BYTES;
	if (build_id->size > BUILD_ID_BYTES)
		build_id->size = BUILD_ID_BYTES;
	memcpy(build_id->bytes, at + 12, BUILD_ID_BYTES);
	build_id->path = strndup((const char *)at + BUILD_ID_EVENT, size - BUILD_ID_EVENT);
	header->n_build_ids += build_id->path != NULL;
}

/* Parses consecutive build-id records. */
static void take_build_ids(struct perf_header *header, const uint8_t *at, size_t size)
{
	while (size >= BUILD_ID_EVENT) {
		struct perf_event_header record;

		memcpy(&record, at, sizeof(record));
		if (record.size < BUILD_ID_EVENT || record.size > size)
			break;
		take_build_id(header, at, record.size);
		at += record.size;
		size -= record.size;
	}
	header->n_skipped += size != 0;
}

/* Parses a string that follows its 32-bit size. */
static void take_text(const uint8_t *at, size_t size, char *ret, size_t ret_size)
{
	if (size < 4 || half_word(at) > size - 4)
		return;
	size = half_word(at);
	if (size >= ret_size)
		size = ret_size - 1;
	memcpy(ret, at + 4, size);
	ret[size] = 0;
}

static void take_feature(struct perf_header *header, uint64_t id, const uint8_t *at, size_t size)
{
	switch (id) {
	case FEATURE_BUILD_ID:
		take_build_ids(header, at, size);
		break;
	case FEATURE_HOSTNAME:
		take_text(at, size, header->host, sizeof(header->host));
		break;
	case FEATURE_OSRELEASE:
		take_text(at, size, header->os_release, sizeof(header->os_release));
		break;
	case FEATURE_ARCH:
		take_text(at, size, header->arch, sizeof(header->arch));
		break;
	case FEATURE_NRCPUS:
		if (size >= 4)
			header->n_cpus = half_word(at);
		break;
	case FEATURE_EVENT_DESC:
		header->n_skipped += !events_take_names(&header->events, at, size);
		break;
	case FEATURE_SAMPLE_TIME:
		if (size >= 8)
			header->first_time = layout_word(at, 0);
		if (header->first_time == UINT64_MAX) /* samples without times */
			header->first_time = 0;
		break;
	case FEATURE_DIR_FORMAT:
		header->is_directory = true;
		break;
	case FEATURE_COMPRESSED:
		header->is_zstd = size >= 8 && half_word(at + 4) == 1;
		break;
	}
}

static int read_ids(const struct input *input, struct section ids, uint8_t **ret)
{
	if (ids.size > EVENT_IDS_MAX * sizeof(uint64_t))
		return PERFDATA_E_DAMAGED;
	if (!input_has(input, ids.offset, ids.size))
		return PERFDATA_E_CUT;
	*ret = malloc(ids.size + 1);
	return *ret ? input_read_at(input, ids.offset, *ret, ids.size) : -ENOMEM;
}

static int read_attrs(struct perf_header *header, const struct input *input, struct section attrs,
		      uint64_t entry_size)
{
	_cleanup_free_ uint8_t *entry = NULL;
	int r = 0;

	if (entry_size < 64 + sizeof(struct section) || entry_size > 4096 + sizeof(struct section))
		return PERFDATA_E_DAMAGED;
	entry = malloc(entry_size);
	if (!entry)
		return -ENOMEM;
	for (uint64_t at = 0; at + entry_size <= attrs.size && r == 0; at += entry_size) {
		_cleanup_free_ uint8_t *ids = NULL;
		struct section ids_section;

		r = input_read_at(input, attrs.offset + at, entry, entry_size);
		if (r)
			return r;
		memcpy(&ids_section, entry + entry_size - sizeof(ids_section), sizeof(ids_section));
		r = read_ids(input, ids_section, &ids);
		if (r == 0)
			r = events_add(&header->events, entry, entry_size - sizeof(ids_section),
				       ids, ids_section.size / sizeof(uint64_t));
	}
	return r;
}

/* The feature sections follow the data, in the order of their bits. */
static int read_features(struct perf_header *header, const struct input *input, const uint8_t *bits)
{
	uint64_t at = header->data_at + header->data_size;

	for (size_t id = 0; id < FEATURE_BITS; id++) {
		_cleanup_free_ uint8_t *data = NULL;
		struct section section;
		int r;

		if (!(bits[id / 8] >> id % 8 & 1))
			continue;
		r = input_read_at(input, at, &section, sizeof(section));
		if (r)
			return r;
		at += sizeof(section);
		if (section.size <= HEADER_FEATURE_MAX &&
		    input_has(input, section.offset, section.size))
			data = malloc(section.size + 1);
		if (data && input_read_at(input, section.offset, data, section.size) == 0)
			take_feature(header, id, data, section.size);
		else
			header->n_skipped++;
	}
	return 0;
}

/* Words after the magic: size, attr_size, attrs, data, event types, bits. */
static int read_file_header(struct perf_header *header, const struct input *input)
{
	uint8_t bytes[FILE_HEADER];
	struct section attrs;
	int r = input_read_at(input, 0, bytes, sizeof(bytes));

	if (r)
		return r;
	attrs = (struct section){ layout_word(bytes, 3), layout_word(bytes, 4) };
	header->data_at = layout_word(bytes, 5);
	header->data_size = layout_word(bytes, 6);
	if (header->data_at < FILE_HEADER || header->data_size > INT64_MAX - header->data_at)
		return PERFDATA_E_DAMAGED;
	r = read_attrs(header, input, attrs, layout_word(bytes, 2));
	if (r)
		return r;
	/* If perf was killed, data_size is 0 and there are no features. */
	if (header->data_size && read_features(header, input, bytes + 72))
		header->n_skipped++;
	return 0;
}

int header_read(struct perf_header *header, struct input *input)
{
	const uint8_t *bytes;
	const void *at;
	int r = input_take(input, PIPE_HEADER, &at);

	memset(header, 0, sizeof(*header));
	events_init(&header->events);
	if (r)
		return r < 0 ? r : PERFDATA_E_NOT_PERF;
	bytes = at;
	if (!memcmp(bytes, swapped_magic, sizeof(magic)))
		return PERFDATA_E_BYTE_ORDER;
	if (memcmp(bytes, magic, sizeof(magic))) {
		header->compression = compression_program(bytes, PIPE_HEADER);
		return header->compression ? PERFDATA_E_COMPRESSED : PERFDATA_E_NOT_PERF;
	}
	if (layout_word(bytes, 1) == PIPE_HEADER) {
		header->is_pipe = true;
		return 0;
	}
	/* The file format needs random access. */
	if (layout_word(bytes, 1) != FILE_HEADER || !input->is_seekable)
		return layout_word(bytes, 1) == FILE_HEADER ? -ESPIPE : PERFDATA_E_DAMAGED;
	r = read_file_header(header, input);
	if (r)
		return r;
	return input_seek(input, header->data_at,
			  header->data_size ? header->data_size : UINT64_MAX);
}

void header_deinit(struct perf_header *header)
{
	for (size_t i = 0; i < header->n_build_ids; i++)
		free(header->build_ids[i].path);
	free(take_pointer(header->build_ids));
	header->n_build_ids = 0;
	events_deinit(&header->events);
}

/* Layout: header, attr (which contains its size), ids. */
int header_take_attr(struct perf_header *header, const struct perf_event_header *record)
{
	const uint8_t *at = (const uint8_t *)(record + 1);
	size_t size = record->size - sizeof(*record), attr_size;

	if (record->size < sizeof(*record) + 8)
		return PERFDATA_E_DAMAGED;
	attr_size = half_word(at + 4);
	if (!attr_size)
		attr_size = 64;
	if (attr_size > size)
		return PERFDATA_E_DAMAGED;
	return events_add(&header->events, at, attr_size, at + attr_size, (size - attr_size) / 8);
}

void header_take_feature(struct perf_header *header, const struct perf_event_header *record)
{
	const uint8_t *at = (const uint8_t *)(record + 1);

	if (record->size >= sizeof(*record) + 8)
		take_feature(header, layout_word(at, 0), at + 8,
			     record->size - sizeof(*record) - 8);
}

void header_take_build_id(struct perf_header *header, const uint8_t *record, size_t size)
{
	take_build_id(header, record, size);
}

const struct header_build_id *header_find_build_id(const struct perf_header *header,
						   const char *path)
{
	for (size_t i = 0; i < header->n_build_ids; i++)
		if (!strcmp(header->build_ids[i].path, path))
			return &header->build_ids[i];
	return NULL;
}
