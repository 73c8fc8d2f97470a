/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/stream/build-id.h"
#include "formats/syscap/notes.h"

enum {
	PIECE_SIZE = 16 * 1024, /* a piece of the file is written when it has so many bytes */
	NAME_SIZE = 128,
	SEGMENTS_SIZE = WIRE_SEGMENTS_MAX * (WIRE_SEGMENT_WORDS * 17 + 1),
	SOURCE_LINE_SIZE = 24,	       /* two decimal numbers: file and line */
	LINE_SIZE = 2 * WIRE_NAME_MAX, /* of the longest line: all lines of a location, or a path */
	THREADS_EMITTED_MAX = 1 << 20,
	PLACES_EMITTED_MAX = 1 << 22,
};

void syscap_notes_init(struct syscap_notes *notes, struct syscap_files *files)
{
	*notes = (struct syscap_notes){
		.files = files,
		.thread_times = { .path = SYSCAP_THREAD_TIMES_FILE },
		.thread_names = { .path = SYSCAP_THREAD_NAMES_FILE },
		.cgroups = { .path = SYSCAP_CGROUPS_FILE },
		.source_lines = { .path = SYSCAP_SOURCE_LINES_FILE },
		.images = { .path = SYSCAP_IMAGES_FILE },
		.contexts = { .path = SYSCAP_CONTEXTS_FILE },
	};
	pair_map_init(&notes->emitted_threads, THREADS_EMITTED_MAX);
	pair_map_init(&notes->emitted_places, PLACES_EMITTED_MAX);
	pair_map_init(&notes->emitted_images, PLACES_EMITTED_MAX);
	pair_map_init(&notes->emitted_files, PLACES_EMITTED_MAX);
	pair_map_init(&notes->emitted_contexts, THREADS_EMITTED_MAX);
}

void syscap_notes_deinit(struct syscap_notes *notes)
{
	free(notes->thread_times.text);
	free(notes->thread_names.text);
	free(notes->cgroups.text);
	free(notes->source_lines.text);
	free(notes->images.text);
	free(notes->contexts.text);
	pair_map_deinit(&notes->emitted_threads);
	pair_map_deinit(&notes->emitted_places);
	pair_map_deinit(&notes->emitted_images);
	pair_map_deinit(&notes->emitted_files);
	pair_map_deinit(&notes->emitted_contexts);
}

static int put_piece(struct syscap_notes *notes, struct syscap_note *note, uint64_t time,
		     int is_last)
{
	size_t size = note->size;

	note->size = 0;
	return syscap_files_put_piece(notes->files, note->path, time, note->text, size, is_last);
}

static int add_line(struct syscap_notes *notes, struct syscap_note *note, uint64_t time,
		    const char *format, ...) __attribute__((format(printf, 4, 5)));
static int add_line(struct syscap_notes *notes, struct syscap_note *note, uint64_t time,
		    const char *format, ...)
{
	va_list arguments;

	if (!note->text)
		note->text = malloc(PIECE_SIZE + LINE_SIZE);
	if (!note->text)
		return -ENOMEM;
	va_start(arguments, format);
	note->size += vsnprintf(note->text + note->size, LINE_SIZE, format, arguments);
	va_end(arguments);
	return note->size < PIECE_SIZE ? 0 : put_piece(notes, note, time, 0);
}

int syscap_note_thread_time(struct syscap_notes *notes, int32_t pid,
			    const struct wire_thread_time *record)
{
	return add_line(notes, &notes->thread_times, record->time, SYSCAP_THREAD_TIME, record->time,
			pid, record->tid, record->on_cpu, record->off_cpu, record->n_waits);
}

int syscap_note_cgroup(struct syscap_notes *notes, int32_t pid, const char *path, uint64_t time)
{
	char text[CGROUP_PATH_MAX];

	return add_line(notes, &notes->cgroups, time, SYSCAP_CGROUP, pid,
			text_clean_string(path, text, sizeof(text)));
}

int syscap_note_thread(struct syscap_notes *notes, struct names *names,
		       const struct named_stack *stack, struct syscap_time when, int32_t tid)
{
	uint32_t name =
		names_of_thread(names, stack->process, stack->record->process, stack->record->tid);
	uint64_t *emitted = pair_map_find(&notes->emitted_threads, when.pid, tid);
	char text[NAME_SIZE];
	int r;

	if (emitted ? *emitted == name
		    : !stack->process || !strcmp(names_text(names, name), stack->process->name))
		return 0;
	if (emitted)
		*emitted = name;
	else if ((r = pair_map_add(&notes->emitted_threads, when.pid, tid, name)) < 0)
		return r == -ENOMEM ? r : 0;
	return add_line(notes, &notes->thread_names, when.time, SYSCAP_THREAD_NAME, when.time,
			when.pid, tid,
			text_clean_string(names_text(names, name), text, sizeof(text)));
}

/* Marks a pair as written. 1; 0: it was marked already, or there is no room; -ENOMEM. */
static int begin_emitting(struct pair_map *emitted, uint64_t a, uint64_t b)
{
	int r = pair_map_find(emitted, a, b) ? -EEXIST : pair_map_add(emitted, a, b, 1);

	return r == -ENOMEM ? r : r == 0;
}

static int emit_image(struct syscap_notes *notes, const struct frame_name *frame, uint64_t time)
{
	int r = begin_emitting(&notes->emitted_places, frame->image_number, UINT64_MAX);
	char hex[BUILD_ID_TEXT], path[WIRE_NAME_MAX];

	if (r <= 0)
		return r;
	build_id_text(frame->image->build_id, frame->image->build_id_size, hex);
	return add_line(notes, &notes->source_lines, time, SYSCAP_SOURCE_IMAGE, frame->image_number,
			frame->image->inode, hex,
			text_clean_string(frame->image->path, path, sizeof(path)));
}

static int emit_file(struct syscap_notes *notes, const struct names *names, uint32_t file,
		     uint64_t time)
{
	int r = file ? begin_emitting(&notes->emitted_files, file, 0) : 0;

	return r <= 0 ? r
		      : add_line(notes, &notes->source_lines, time, SYSCAP_SOURCE_FILE, file,
				 names_text(names, file));
}

/* The lines of a frame's function and inlined calls. Returns their number; 0: none is known. */
static size_t lines_of(const struct names *names, const struct frame_name *frame,
		       const struct source_line **ret)
{
	size_t n = 1;
	bool has_line = false;

	*ret = &frame->place->line;
	if (frame->label & NAMES_LIST) {
		names_of_label(names, &frame->label, &n);
		*ret = inlined_calls_lines(&names->inlined, frame->label & ~NAMES_LIST);
	}
	for (size_t i = 0; i < n; i++)
		has_line |= (*ret)[i].file != 0;
	return has_line ? n : 0;
}

static int note_lines(struct syscap_notes *notes, const struct names *names,
		      const struct frame_name *frame, uint64_t time)
{
	char text[(INLINED_CALLS_MAX + 1) * SOURCE_LINE_SIZE] = "";
	const struct source_line *lines;
	size_t n, size = 0;
	int r;

	if (!frame->place || !frame->image ||
	    (frame->image->kind != WIRE_image_kind_FILE &&
	     frame->image->kind != WIRE_image_kind_SCRIPT))
		return 0;
	n = lines_of(names, frame, &lines);
	r = n ? begin_emitting(&notes->emitted_places, frame->image_number, frame->offset) : 0;
	if (r <= 0)
		return r;
	r = emit_image(notes, frame, time);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = emit_file(notes, names, lines[i].file, time);
		size += snprintf(text + size, sizeof(text) - size, SYSCAP_SOURCE_LINE,
				 lines[i].file, lines[i].line);
	}
	return r < 0 ? r
		     : add_line(notes, &notes->source_lines, time, SYSCAP_SOURCE_PLACE,
				frame->image_number, frame->offset, text);
}

/* "offset:address:size,…" */
static void print_segments(const struct image *image, char ret[SEGMENTS_SIZE])
{
	size_t size = 0;

	for (size_t i = 0; i < image->n_segments; i++)
		size += snprintf(ret + size, SEGMENTS_SIZE - size, SYSCAP_SEGMENT, i ? "," : "",
				 image->segments[i].offset, image->segments[i].address,
				 image->segments[i].size);
}

/* A word of a line, whatever the file says it is. */
static const char *word(const char *text)
{
	return text && *text && !strpbrk(text, " \n") ? text : "-";
}

static int note_image(struct syscap_notes *notes, const struct image *image, uint64_t time)
{
	char segments[SEGMENTS_SIZE], hex[BUILD_ID_TEXT], file_id[FILE_ID_TEXT_SIZE] = "";
	char path[WIRE_NAME_MAX], go_build_id[TEXT_CLEAN_SIZE(256)] = "";
	int r;

	if (!image || !image->segments || !image->n_segments)
		return 0;
	r = begin_emitting(&notes->emitted_images, image->number, 0);
	if (r <= 0)
		return r;
	print_segments(image, segments);
	if (image->has_file_id)
		file_id_text(&image->file_id, file_id);
	if (image->go_build_id)
		text_clean_string(image->go_build_id, go_build_id, sizeof(go_build_id));
	return add_line(notes, &notes->images, time, SYSCAP_IMAGE, image->inode,
			word(build_id_text(image->build_id, image->build_id_size, hex)),
			word(file_id), segments, word(go_build_id),
			text_clean_string(image->path, path, sizeof(path)));
}

int syscap_note_frame(struct syscap_notes *notes, const struct names *names,
		      const struct frame_name *frame, uint64_t time)
{
	int r = note_image(notes, frame->image, time);

	return r < 0 ? r : note_lines(notes, names, frame, time);
}

int syscap_note_resource(struct syscap_notes *notes, int32_t pid,
			 const struct wire_resource_attribute *record)
{
	char key[TEXT_CLEAN_SIZE(WIRE_ATTRIBUTE_MAX)], value[WIRE_NAME_MAX];

	return add_line(notes, &notes->contexts, record->time, SYSCAP_CONTEXT_RESOURCE,
			record->time, pid, record->number,
			text_clean_string(record->key.data, key, sizeof(key)),
			text_clean_string(record->value.data, value, sizeof(value)));
}

int syscap_note_context(struct syscap_notes *notes, int32_t pid, uint64_t time,
			const struct wire_trace_context *record)
{
	char trace[sizeof(record->trace_id)], span[sizeof(record->span_id)];

	text_clean_string(record->trace_id, trace, sizeof(trace));
	text_clean_string(record->span_id, span, sizeof(span));
	return add_line(notes, &notes->contexts, time, SYSCAP_CONTEXT, time, record->number, pid,
			*trace ? trace : "-", *span ? span : "-", record->flags,
			record->n_attributes);
}

int syscap_note_attribute(struct syscap_notes *notes, uint64_t time,
			  const struct wire_trace_attribute *record)
{
	char key[TEXT_CLEAN_SIZE(WIRE_ATTRIBUTE_MAX)], value[TEXT_CLEAN_SIZE(WIRE_ATTRIBUTE_MAX)];

	return add_line(notes, &notes->contexts, time, SYSCAP_CONTEXT_ATTRIBUTE, time,
			record->trace_context,
			text_clean_string(record->key.data, key, sizeof(key)),
			text_clean_string(record->value.data, value, sizeof(value)));
}

int syscap_note_context_since(struct syscap_notes *notes, struct syscap_time when, int32_t tid,
			      uint64_t context)
{
	uint64_t *emitted = pair_map_find(&notes->emitted_contexts, when.pid, tid);
	int r = 0;

	if (emitted ? *emitted == context : !context)
		return 0;
	if (emitted)
		*emitted = context;
	else
		r = pair_map_add(&notes->emitted_contexts, when.pid, tid, context);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return add_line(notes, &notes->contexts, when.time, SYSCAP_CONTEXT_SINCE, when.time,
			when.pid, tid, context);
}

int syscap_notes_end(struct syscap_notes *notes, uint64_t time)
{
	struct syscap_note *all[] = {
		&notes->thread_times, &notes->thread_names, &notes->cgroups,
		&notes->source_lines, &notes->images,	    &notes->contexts
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && r == 0; i++)
		if (all[i]->text)
			r = put_piece(notes, all[i], time, 1);
	return r;
}
