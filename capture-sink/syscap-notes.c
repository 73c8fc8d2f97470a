/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture-sink/syscap-notes.h"
#include "common/text.h"

enum {
	PIECE_SIZE = 16 * 1024, /* then a piece of the file is due */
	NAME_SIZE = 128,
	LINE_SIZE = CGROUP_PATH_MAX + NAME_SIZE, /* of the longest line */
	THREADS_TOLD_MAX = 1 << 20,
};

void syscap_notes_init(struct syscap_notes *notes, struct syscap_files *files)
{
	*notes = (struct syscap_notes){
		.files = files,
		.thread_times = { .path = SYSCAP_THREAD_TIMES_FILE },
		.thread_names = { .path = SYSCAP_THREAD_NAMES_FILE },
		.cgroups = { .path = SYSCAP_CGROUPS_FILE },
	};
	pair_map_init(&notes->told_threads, THREADS_TOLD_MAX);
}

void syscap_notes_deinit(struct syscap_notes *notes)
{
	free(notes->thread_times.text);
	free(notes->thread_names.text);
	free(notes->cgroups.text);
	pair_map_deinit(&notes->told_threads);
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
	uint64_t *told = pair_map_find(&notes->told_threads, when.pid, tid);
	char text[NAME_SIZE];
	int r;

	if (told ? *told == name
		 : !stack->process || !strcmp(names_text(names, name), stack->process->name))
		return 0;
	if (told)
		*told = name;
	else if ((r = pair_map_add(&notes->told_threads, when.pid, tid, name)) < 0)
		return r == -ENOMEM ? r : 0;
	return add_line(notes, &notes->thread_names, when.time, SYSCAP_THREAD_NAME, when.time,
			when.pid, tid,
			text_clean_string(names_text(names, name), text, sizeof(text)));
}

int syscap_notes_end(struct syscap_notes *notes, uint64_t time)
{
	struct syscap_note *all[] = { &notes->thread_times, &notes->thread_names, &notes->cgroups };
	int r = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && r == 0; i++)
		if (all[i]->text)
			r = put_piece(notes, all[i], time, 1);
	return r;
}
