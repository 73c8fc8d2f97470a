/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counts of a stage, as records for the sink and as a JSON file. CPU time and memory are only
 * in the file: the same input must give the same stream.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/json.h"
#include "common/file/output-file.h"
#include "common/proc/peak-memory.h"
#include "common/stage/stage-internal.h"

static int send_stats(struct stage *stage)
{
	struct wire_string name = wire_string(stage->program->name, 64);
	struct wire_stats stats = {
		.stage = name,
		.records_in = stage->reader.n_records,
		.records_out = stage->writer.n_records,
		.samples_in = stage->samples_in,
		.samples_out = stage->samples_out,
	};
	int r = stage_put(stage, WIRE_RECORD_stats, &stats);

	for (size_t i = 0; i < stage->counters.n && r == 0; i++) {
		const struct counter *counter = stage->counters.list[i];
		struct wire_count count = {
			.stage = name,
			.group = wire_string(counter->group, 64),
			.name = wire_string(counter->name, 4096),
			.value = counter->value,
		};

		r = stage_put(stage, WIRE_RECORD_count, &count);
	}
	return r;
}

int stage_send_end(struct stage *stage, enum stage_stream_end end)
{
	struct wire_total totals[WIRE_TYPE_MAX];
	struct wire_end record = { .time = stage->end_time, .totals.data = totals };
	int r;

	if (stage->program->role == STAGE_SINK)
		return 0;
	r = send_stats(stage);
	if (r < 0)
		return r;
	for (size_t type = 0; type < WIRE_TYPE_MAX; type++)
		if (stage->writer.totals[type])
			totals[record.totals.n++] =
				(struct wire_total){ type, stage->writer.totals[type] };
	if (end != STAGE_STREAM_WHOLE)
		record.flags = WIRE_end_flags_INCOMPLETE;
	return stage_put(stage, WIRE_RECORD_end, &record);
}

/* Early: an invalid path is reported before the work, and a sandbox would forbid to open it. */
int stage_open_stats(struct stage *stage)
{
	_cleanup_fd_ int fd = -1;

	if (!stage->stats_path)
		return 0;
	stage->memory_fd = peak_memory_open();
	fd = output_file_open(stage->stats_path, OUTPUT_FILE_REPLACE);
	stage->stats_file = fd < 0 ? NULL : fdopen(fd, "w");
	if (stage->stats_file) {
		take_fd(&fd); /* now owned by the file */
		return 0;
	}
	stage_error(stage, "could not write '%s': %s", stage->stats_path,
		    strerror(fd < 0 ? -fd : errno));
	return -ECANCELED;
}

static void write_group(struct json *json, const struct counters *counters, const char *group)
{
	json_begin(json, group);
	for (size_t i = 0; i < counters->n; i++)
		if (!strcmp(counters->list[i]->group, group))
			json_number(json, counters->list[i]->name, counters->list[i]->value);
	json_end(json);
}

/* Each group but "dropped", in the order of their first counts. */
static void write_groups(struct json *json, const struct counters *counters)
{
	for (size_t i = 0; i < counters->n; i++) {
		const char *group = counters->list[i]->group;
		size_t first = 0;

		while (strcmp(counters->list[first]->group, group))
			first++;
		if (first == i && strcmp(group, "dropped"))
			write_group(json, counters, group);
	}
}

static double seconds(struct timeval time)
{
	return time.tv_sec + time.tv_usec / 1e6;
}

void stage_write_stats(struct stage *stage)
{
	FILE *out = stage->stats_file;
	struct json json = { .out = out };
	struct rusage usage;
	uint64_t peak_kib;

	if (!out)
		return;
	getrusage(RUSAGE_SELF, &usage);
	json_begin(&json, NULL);
	json_text(&json, "stage", stage->program->name);
	json_number(&json, "records_in", stage->reader.n_records);
	json_number(&json, "records_out", stage->writer.n_records);
	json_number(&json, "bytes_in", stage->reader.n_bytes);
	json_number(&json, "bytes_out", stage->writer.n_bytes);
	json_number(&json, "samples_in", stage->samples_in);
	json_number(&json, "samples_out", stage->samples_out);
	write_group(&json, &stage->counters, "dropped"); /* even if empty */
	write_groups(&json, &stage->counters);
	if (stage->program->role != STAGE_SINK)
		blocked_time_count(&stage->writer.blocked, &stage->run_counters, "ms-of-output");
	if (stage->writer.compressed)
		*counters_get(&stage->run_counters, "compressed", "bytes") =
			stage->writer.compressed->n_bytes;
	write_groups(&json, &stage->run_counters);
	json_seconds(&json, "cpu_user_s", seconds(usage.ru_utime));
	json_seconds(&json, "cpu_sys_s", seconds(usage.ru_stime));
	if (peak_memory_read(stage->memory_fd, &peak_kib) == 0) /* fails without /proc */
		json_number(&json, "max_rss_kib", peak_kib);
	if (stage->memory_fd >= 0)
		close(stage->memory_fd);
	json_end(&json);
	fputc('\n', out);
	if (fclose(out) == 0)
		return;
	stage_error(stage, "could not write '%s': %s", stage->stats_path, strerror(errno));
	if (stage->exit_status == STAGE_EXIT_OK)
		stage->exit_status = STAGE_EXIT_FAILED;
}
