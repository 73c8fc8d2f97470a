/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether each stage runs in its sandbox here. A sandbox allows a list of system calls, and kills a
 * stage whose C library makes another one. So each stage runs confined on a small real input, with
 * the stages before it unconfined.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/file/output-file.h"
#include "stackpipe/doctor/doctor-sandboxes.h"

enum { BEFORE_MAX = 2, WORD_SIZE = 64 };

enum input {
	INPUT_NONE,   /* the stage runs a program itself */
	INPUT_STREAM, /* the source's stream */
	INPUT_FOLDED,
	INPUT_PERF_DATA,
};

struct confined {
	const char *name;
	enum input input;
	const char *before[BEFORE_MAX]; /* stages between the source and this one */
};

static const struct confined confined[] = {
	{ "preload-source", INPUT_NONE, { NULL } },
	{ "live-unwinder", INPUT_STREAM, { NULL } },
	{ "symbolizer", INPUT_STREAM, { "live-unwinder" } },
	{ "capture-sink", INPUT_STREAM, { "live-unwinder", "symbolizer" } },
	{ "capture-source", INPUT_FOLDED, { NULL } },
	{ "perfdata-source", INPUT_PERF_DATA, { NULL } },
	{ "frame-dump", INPUT_STREAM, { NULL } },
};

struct files {
	char directory[WORD_SIZE], capture[WORD_SIZE + 16], folded[WORD_SIZE + 16],
		perf_data[WORD_SIZE + 16];
};

static int write_file(const char *path, const void *data, size_t size)
{
	_cleanup_fd_ int fd = output_file_open(path, OUTPUT_FILE_NEW);

	return fd >= 0 && write(fd, data, size) == (ssize_t)size ? 0 : -1;
}

/* The start of perf's pipe-mode output: one event, no sample. */
struct perf_data {
	char magic[8];
	uint64_t size; /* of magic and size */
	struct perf_event_header header;
	struct perf_event_attr attributes;
	uint64_t id;
};

static int write_perf_data(const char *path)
{
	const struct perf_data data = {
		.magic = "PERFILE2",
		.size = offsetof(struct perf_data, header),
		.header = { .type = 64, /* PERF_RECORD_HEADER_ATTR: perf's own record type */
			    .size = sizeof(data) - offsetof(struct perf_data, header) },
		.attributes = { .type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_CPU_CLOCK,
				.size = sizeof(data.attributes),
				.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					       PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				.sample_id_all = 1 },
	};

	return write_file(path, &data, sizeof(data));
}

static int make_files(struct files *files)
{
	static const char folded[] = "sh;main;work 1\n";

	strcpy(files->directory, "/tmp/stackpipe-doctor-XXXXXX");
	if (!mkdtemp(files->directory))
		return -1;
	sprintf(files->capture, "%s/a.syscap", files->directory);
	sprintf(files->folded, "%s/a.folded", files->directory);
	sprintf(files->perf_data, "%s/perf.data", files->directory);
	if (write_file(files->folded, folded, sizeof(folded) - 1) < 0)
		return -1;
	return write_perf_data(files->perf_data);
}

static void remove_files(struct files *files)
{
	unlink(files->capture);
	unlink(files->folded);
	unlink(files->perf_data);
	rmdir(files->directory);
}

static int add_before(struct pipeline *pipeline, const struct confined *check,
		      const char *const *source)
{
	int r = doctor_add_stage(pipeline, source);

	for (size_t i = 0; i < BEFORE_MAX && check->before[i] && r == 0; i++)
		r = doctor_add_stage(pipeline, (const char *[]){ check->before[i], "-q",
								 "--sandbox=off", NULL });
	return r;
}

/* Appends the stage's input or output file, or its command, to its options. */
static int add_confined(struct pipeline *pipeline, const struct confined *check, const char *mode,
			const struct files *files)
{
	const char *words[6] = { check->name, "-q", mode };

	if (check->input == INPUT_NONE) {
		words[3] = "--";
		words[4] = "true";
	} else if (check->input == INPUT_FOLDED) {
		words[3] = files->folded;
	} else if (check->input == INPUT_PERF_DATA) {
		words[3] = files->perf_data;
	} else if (!strcmp(check->name, "capture-sink")) {
		words[3] = "--force";
		words[4] = files->capture;
	}
	return doctor_add_stage(pipeline, words);
}

static bool runs(const struct confined *check, const char *mode, const char *const *source,
		 const struct files *files, FILE *log)
{
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { 0 };
	int r = check->input == INPUT_STREAM ? add_before(&pipeline, check, source) : 0;

	if (r == 0)
		r = add_confined(&pipeline, check, mode, files);
	return r == 0 && doctor_try(&pipeline, log) == 0;
}

/* Whether nothing was printed: -q prints errors only, and a stage may survive its killed helper. */
static bool is_silent(FILE *log)
{
	return fseek(log, 0, SEEK_END) == 0 && ftell(log) == 0;
}

/* --sandbox=auto accepts a partial sandbox where a full one is unavailable: an optional check. */
static enum doctor_answer check_one(const struct confined *check, const char *const *source,
				    const struct files *files)
{
	_cleanup_file_ FILE *log = tmpfile();
	enum doctor_answer answer = DOCTOR_BROKEN;
	char what[WORD_SIZE];

	if (log && runs(check, "--sandbox=required", source, files, log) && is_silent(log))
		answer = DOCTOR_YES;
	else if (log && runs(check, "--sandbox=auto", source, files, log))
		answer = DOCTOR_NO;
	snprintf(what, sizeof(what), "run %s in its sandbox", check->name);
	doctor_print(answer, what, log);
	return answer;
}

enum doctor_answer doctor_try_sandboxes(const char *const *source)
{
	enum doctor_answer worst = DOCTOR_YES;
	struct files files;

	if (make_files(&files) < 0) {
		doctor_print(DOCTOR_NO, "create files in /tmp, as input for the stages", NULL);
		return DOCTOR_NO;
	}
	for (size_t i = 0; i < sizeof(confined) / sizeof(*confined); i++) {
		enum doctor_answer answer = check_one(&confined[i], source, &files);

		if (answer > worst)
			worst = answer;
	}
	remove_files(&files);
	return worst;
}
