/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/file/compression.h"
#include "perfdata-source/kernel-names.h"
#include "perfdata-source/samples.h"
#include "perfdata-source/sideband.h"

enum {
	MISC_LOST_SAMPLES_BPF = 1 << 15, /* tools/lib/perf/include/perf/event.h */
	PIECE_RECORDS = 4096,		 /* read from several files between two releases */
};

/*
 * Values from here on are not times: perf gives them to records that it appends at the end of a
 * file (OFF_CPU_TIMESTAMP of tools/perf/util/bpf_off_cpu.c).
 */
#define NO_TIME_FROM (~0ULL << 32)

#define SLACK_NS NANOSECONDS_A_SECOND /* disorder of records from one perf thread's rings */

/* Reports an outcome in one line. Returns -ECANCELED. */
static int fail(const struct stage *stage, const struct perfdata_replay *replay, int outcome)
{
	const char *path = strcmp(replay->path, "-") ? replay->path : "standard input";

	if (outcome == -ESPIPE)
		stage_error(
			stage,
			"'%s' is a pipe, but a perf.data file must be seekable: pass it by name, "
			"or use perf record -o -",
			path);
	else if (outcome == -ENOTTY)
		stage_error(stage,
			    "'%s' is a terminal: pipe the output of perf record -o - into it",
			    path);
	else if (outcome == PERFDATA_E_COMPRESSED)
		stage_error(stage,
			    strcmp(replay->path, "-") ? "'%s': " COMPRESSION_OF_FILE
						      : "'%s': " COMPRESSION_OF_INPUT,
			    path, replay->header.compression);
	else if (outcome < 0)
		stage_error(stage, "could not read '%s': %s", path, strerror(-outcome));
	else
		stage_error(stage, "'%s': %s", path, perfdata_outcome_text(outcome));
	return -ECANCELED;
}

static int open_file(struct replay_file *file, const char *path)
{
	int r = input_open(&file->input, path);

	if (r == 0)
		records_init(&file->records, &file->input);
	return r;
}

/* A recording by several threads has its samples in separate files. */
static int open_more(struct perfdata_replay *replay)
{
	int r = 0;

	replay->more = calloc(REPLAY_FILES_MAX, sizeof(*replay->more));
	if (!replay->more)
		return -ENOMEM;
	while (r == 0 && replay->n_more < REPLAY_FILES_MAX) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/data.%zu", replay->path, replay->n_more);
		r = open_file(&replay->more[replay->n_more], path);
		replay->n_more += r == 0;
	}
	return r == -ENOENT ? 0 : r;
}

/* Opens all files before reading any, as the sandbox allows no open(2). */
static int open_files(struct perfdata_replay *replay)
{
	char path[4096];
	struct stat status;
	bool is_directory = stat(replay->path, &status) == 0 && S_ISDIR(status.st_mode);
	int r;

	snprintf(path, sizeof(path), "%s%s", replay->path, is_directory ? "/data" : "");
	r = open_file(&replay->file, path);
	if (r < 0)
		return r;
	if (isatty(replay->file.input.fd))
		return -ENOTTY;
	if (is_directory)
		return open_more(replay);
	if (replay->copies_stacks)
		return 0;
	return stack_reference_prepare(&replay->stack_reference, &replay->file.input, path);
}

int replay_open(struct stage *stage, void *data)
{
	struct perfdata_replay *replay = data;
	int r = open_files(replay);

	if (r == -ENOTTY)
		stage->exit_status = STAGE_EXIT_USAGE;
	images_init(&replay->images, stage, -1);
	kernel_names_open(&replay->kernel_names); /* read only if needed */
	return r < 0 ? fail(stage, replay, r) : 0;
}

/* In pipe mode, events are described by records before all others. */
static int read_pipe_head(struct perfdata_replay *replay)
{
	const void *bytes;
	int r = 0;

	while (r == 0) {
		struct perf_event_header header;
		_cleanup_free_ struct perf_event_header *record = NULL;

		r = input_peek(&replay->file.input, sizeof(header), &bytes);
		if (r)
			break;
		memcpy(&header, bytes, sizeof(header));
		if (header.type != RECORD_HEADER_ATTR && header.type != RECORD_FEATURE)
			return 0;
		if (header.size < sizeof(header))
			return PERFDATA_E_DAMAGED;
		r = input_take(&replay->file.input, header.size, &bytes);
		record = r ? NULL : malloc(header.size);
		if (!record)
			return r ? r : -ENOMEM;
		memcpy(record, bytes, header.size);
		if (header.type == RECORD_HEADER_ATTR)
			r = header_take_attr(&replay->header, record);
		else
			header_take_feature(&replay->header, record);
	}
	if (r == PERFDATA_END) /* nothing was recorded, if the head is complete */
		return replay->header.events.n ? 0 : PERFDATA_E_CUT;
	return r;
}

/* Estimates the start of recording by the file's own times, as perf does not store it. */
static uint64_t begun_at(const struct perfdata_replay *replay)
{
	struct statx status;
	uint64_t modified, born;

	if (!replay->file.input.is_seekable ||
	    statx(replay->file.input.fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &status) < 0)
		return clock_now(CLOCK_REALTIME);
	modified = status.stx_mtime.tv_sec * NANOSECONDS_A_SECOND + status.stx_mtime.tv_nsec;
	born = status.stx_btime.tv_sec * NANOSECONDS_A_SECOND + status.stx_btime.tv_nsec;
	return status.stx_mask & STATX_BTIME && born < modified ? born : modified;
}

static bool is_of_this_kernel(const struct perf_header *header)
{
	struct utsname name;

	return uname(&name) == 0 && !strcmp(name.nodename, header->host) &&
	       !strcmp(name.release, header->os_release);
}

static uint32_t largest_stack(const struct perf_events *events)
{
	uint32_t largest = 0;

	for (size_t i = 0; i < events->n; i++)
		if (events->list[i].stack_size > largest)
			largest = events->list[i].stack_size;
	return largest;
}

static void fill_hello(const struct perfdata_replay *replay, struct wire_hello *hello)
{
	const struct event *event = events_first(&replay->header.events, 0);
	char title[EVENT_NAME_SIZE];

	hello->clock = event->is_clockid && event->clockid == CLOCK_MONOTONIC ? WIRE_clock_MONOTONIC
									      : WIRE_clock_PERF;
	hello->start_time = replay->header.first_time;
	hello->start_unix_time = begun_at(replay);
	hello->rate = event->rate;
	hello->stack_size = largest_stack(&replay->header.events);
	hello->register_mask = replay->header.events.arch->register_mask;
	hello->machine = replay->header.events.arch->elf_machine;
	hello->n_cpus = replay->header.n_cpus;
	events_title(&replay->header.events, 0, title);
	snprintf(hello->event, sizeof(hello->event), "%.*s", (int)sizeof(hello->event) - 1, title);
	snprintf(hello->host, sizeof(hello->host), "%s", replay->header.host);
}

static size_t find_build_id(const char *path, const uint8_t **ret, void *arg)
{
	struct perfdata_replay *replay = arg;
	const struct header_build_id *found = header_find_build_id(&replay->header, path);

	if (!found)
		return 0;
	*ret = found->bytes;
	return found->size;
}

static int take_lost(struct stage *stage, struct perfdata_replay *replay,
		     const struct ordered *record, uint64_t time)
{
	const struct perf_record_lost *lost = (const void *)record->bytes;
	struct parsed_id id = { 0 };
	struct wire_lost out = { .time = time };

	if (record->bytes->size < sizeof(*lost))
		return 0;
	layout_parse_id(&record->event->layout, record->bytes, &id);
	out.cpu = id.cpu;
	out.n = lost->n;
	stage_sum(stage, &replay->n_lost_emitted, lost->n);
	return stage_put(stage, WIRE_RECORD_lost, &out);
}

/* Finds the kernel by perf's name for it (tools/perf/util/machine.c). */
static struct wire_blob kernel_build_id(const struct perf_header *header)
{
	const struct header_build_id *found = header_find_build_id(header, KERNEL_NAMES_IMAGE);

	if (!found || !found->is_kernel)
		return (struct wire_blob){ "", 0 };
	return (struct wire_blob){ found->bytes, found->size };
}

/* perf writes the kernel's mappings consecutively at its start; the next record ends them. */
static int settle_kernel(struct stage *stage, struct perfdata_replay *replay, uint32_t type)
{
	if (!kernel_names_is_due(&replay->kernel_names) || type == PERF_RECORD_MMAP ||
	    type == PERF_RECORD_MMAP2)
		return 0;
	return kernel_names_settle(&replay->kernel_names, stage, &replay->file.input,
				   kernel_build_id(&replay->header));
}

static int take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record)
{
	uint64_t time = record->time;
	int r = settle_kernel(stage, replay, record->bytes->type);

	if (r < 0)
		return r;
	if (time < stage->last_time) /* records that perf synthesizes at its start have none */
		time = stage->last_time;
	stage->last_time = time;
	switch (record->bytes->type) {
	case PERF_RECORD_SAMPLE:
		return samples_take(stage, replay, record, time);
	case PERF_RECORD_LOST:
		return take_lost(stage, replay, record, time);
	default:
		return sideband_take(stage, replay, record, time);
	}
}

/* Emits all records up to `until`. Their bytes are borrowed by the writer until the flush. */
static int let_go(struct stage *stage, struct perfdata_replay *replay, uint64_t until)
{
	size_t n = order_sort(&replay->order, until);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = take(stage, replay, &replay->order.list[i]);
	if (r == 0)
		r = processes_reap(&replay->processes, stage->last_time);
	if (r == 0)
		r = processes_sweep(&replay->processes, stage->last_time);
	if (r == 0)
		r = wire_writer_flush(&stage->writer);
	order_drop(&replay->order, n);
	return r;
}

/* Drops old bytes of the ring that follow a sample's stack. */
static size_t size_to_keep(const struct ordered *record)
{
	if (!record->sample.stack)
		return record->bytes->size;
	return record->sample.stack + record->sample.stack_size - (const uint8_t *)record->bytes;
}

/* 0; 1: the sample is dropped and counted. */
static int parse_sample(struct stage *stage, struct ordered *record)
{
	const char *wrong = !record->event ? "unknown-event" : "damaged";

	if (record->event &&
	    layout_parse_sample(&record->event->layout, record->bytes, &record->sample)) {
		record->time = record->sample.time;
		return 0;
	}
	stage_miss(stage, wrong, 1);
	return 1;
}

static int parse_other(struct stage *stage, struct ordered *record)
{
	struct parsed_id id;

	if (!record->event || !layout_parse_id(&record->event->layout, record->bytes, &id)) {
		++*counters_get(&stage->counters, "refused", "short-records");
		return 1;
	}
	record->time = id.time;
	return 0;
}

/* Queues a kernel record. */
static int keep(struct stage *stage, struct perfdata_replay *replay, struct replay_file *file,
		const struct perf_event_header *header, const uint8_t *bytes)
{
	static _Alignas(8) uint8_t copy[UINT16_MAX + 1];
	bool is_in_place = file->records.is_lasting && (uintptr_t)bytes % 8 == 0;
	struct ordered record = { .bytes = (const void *)(is_in_place ? bytes : copy) };
	int r;

	if (!is_in_place) { /* with the header that was checked */
		memcpy(copy, bytes, header->size);
		memcpy(copy, header, sizeof(*header));
	}
	record.event = events_of_record(&replay->header.events, record.bytes);
	r = header->type == PERF_RECORD_SAMPLE ? parse_sample(stage, &record)
					       : parse_other(stage, &record);
	if (r)
		return 0;
	record.is_in_file = is_in_place && file == &replay->file;
	record.size = size_to_keep(&record);
	/* A record without a time keeps its place after the previous one. */
	if (!ordered_has_time(&record) || record.time >= NO_TIME_FROM)
		record.time = file->previous_time;
	file->previous_time = record.time;
	if (record.time > file->last_time)
		file->last_time = record.time;
	return is_in_place ? order_add(&replay->order, &record)
			   : order_add_copy(&replay->order, &record);
}

/* The same record also counts samples that a BPF filter rejected (perf record --filter). */
static void take_lost_samples(struct stage *stage, struct perfdata_replay *replay,
			      const struct perf_event_header *header, const uint8_t *bytes)
{
	uint64_t n;

	if (header->size < sizeof(*header) + sizeof(n))
		return;
	n = layout_word(bytes + sizeof(*header), 0);
	if (header->misc & MISC_LOST_SAMPLES_BPF)
		stage_sum(stage, counters_get(&stage->counters, "records", "filtered"), n);
	else
		stage_sum(stage, &replay->n_lost, n);
}

static int dispatch(struct stage *stage, struct perfdata_replay *replay, struct replay_file *file,
		    const struct perf_event_header *header, const uint8_t *bytes)
{
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_LOST:
		return keep(stage, replay, file, header, bytes);
	case PERF_RECORD_LOST_SAMPLES:
		take_lost_samples(stage, replay, header, bytes);
		return 0;
	case RECORD_FINISHED_ROUND:
		return let_go(stage, replay, order_end_round(&replay->order));
	case RECORD_BUILD_ID: /* in a pipe, only perf inject -b puts it before the samples */
		header_take_build_id(&replay->header, bytes, header->size);
		return 0;
	default:
		++*counters_get(&stage->counters, "records", "passed-over");
		return 0;
	}
}

static int read_one(struct stage *stage, struct perfdata_replay *replay, struct replay_file *file)
{
	struct perf_event_header header;
	const uint8_t *bytes;
	int r = records_next(&file->records, &header, &bytes);

	if (r == 0)
		r = dispatch(stage, replay, file, &header, bytes);
	if (r == 0 && order_is_full(&replay->order))
		r = let_go(stage, replay, order_middle(&replay->order));
	return r;
}

static int read_file(struct stage *stage, struct perfdata_replay *replay, struct replay_file *file)
{
	int r;

	do {
		r = read_one(stage, replay, file);
	} while (r == 0 && !stage_should_stop());
	return r == PERFDATA_END ? 0 : r;
}

static struct replay_file *find_oldest(struct perfdata_replay *replay)
{
	struct replay_file *oldest = NULL;

	for (size_t i = 0; i < replay->n_more; i++)
		if (!replay->more[i].is_over &&
		    (!oldest || replay->more[i].last_time < oldest->last_time))
			oldest = &replay->more[i];
	return oldest;
}

/* Reads several files side by side, always the one furthest behind in time. */
static int read_more(struct stage *stage, struct perfdata_replay *replay)
{
	struct replay_file *file;
	size_t n = 0;
	int r = 0;

	while (r == 0 && (file = find_oldest(replay)) && !stage_should_stop()) {
		uint64_t oldest = file->last_time;

		r = read_one(stage, replay, file);
		if (r == PERFDATA_END) {
			file->is_over = true;
			r = 0;
		}
		if (r == 0 && ++n % PIECE_RECORDS == 0 && oldest > SLACK_NS)
			r = let_go(stage, replay, oldest - SLACK_NS);
	}
	return r;
}

/* Of records held until the hello was sent; UINT64_MAX: none. */
struct earliest {
	uint64_t sample, other;
};

static void take_earliest(struct earliest *earliest, const struct ordered *record)
{
	uint64_t *time =
		record->bytes->type == PERF_RECORD_SAMPLE ? &earliest->sample : &earliest->other;

	if (record->time && record->time < *time)
		*time = record->time;
}

static int read_early(struct stage *stage, struct perfdata_replay *replay,
		      struct earliest *earliest, uint64_t *until)
{
	struct perf_event_header header;
	const uint8_t *bytes;
	size_t n = replay->order.n;
	int r = records_next(&replay->file.records, &header, &bytes);

	if (r)
		return r;
	if (header.type == RECORD_FINISHED_ROUND) {
		*until = order_end_round(&replay->order);
		return 0;
	}
	r = dispatch(stage, replay, &replay->file, &header, bytes);
	if (r == 0 && replay->order.n > n)
		take_earliest(earliest, &replay->order.list[n]);
	return r;
}

static bool has_times(const struct perf_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		if (events->list[i].layout.sample_type & PERF_SAMPLE_TIME)
			return true;
	return false;
}

/*
 * Finds the start of the recording for the hello. The header has it, except of a pipe or if perf
 * was killed. Then records are held until the earliest sample is known: the first samples are of
 * one ring, and the next ring may have older ones. Without samples, takes the earliest record.
 */
static int find_first_time(struct stage *stage, struct perfdata_replay *replay)
{
	struct earliest earliest = { UINT64_MAX, UINT64_MAX };
	uint64_t until = 0;
	int r = 0;

	if (replay->header.first_time || !has_times(&replay->header.events))
		return 0;
	while (r == 0 && (earliest.sample == UINT64_MAX || earliest.sample > until) &&
	       !order_is_full(&replay->order) && !stage_should_stop())
		r = read_early(stage, replay, &earliest, &until);
	if (earliest.sample == UINT64_MAX)
		earliest.sample = earliest.other;
	if (earliest.sample != UINT64_MAX)
		replay->header.first_time = earliest.sample;
	replay->early_outcome = r;
	return r < 0 ? r : 0;
}

/* Returns the first sampled event whose samples have no stacks; NULL: none. */
static const struct event *find_without_stack(const struct perf_events *events)
{
	for (size_t i = 0; i < events->n; i++)
		if (!events->list[i].stack_size && events->list[i].number != EVENT_NOT_SAMPLED)
			return &events->list[i];
	return NULL;
}

/* Describes what perf recorded of callers instead of stacks. */
static const char *what_is_instead(const struct layout *layout)
{
	if (!(layout->sample_type & PERF_SAMPLE_CALLCHAIN))
		return "only the address of each sample is known";
	return layout->branch_type & PERF_SAMPLE_BRANCH_CALL_STACK
		       ? "perf's own call chains, from branch records (LBR), are used"
		       : "perf's own call chains, from frame pointers, are used";
}

static void warn_of_missing_stacks(struct stage *stage, const struct perf_events *events)
{
	const struct event *without = find_without_stack(events);

	if (without && !largest_stack(events))
		stage_warn(
			stage,
			"the file has no stacks: %s (use perf record --call-graph dwarf to record "
			"stacks)",
			what_is_instead(&without->layout));
	else if (without)
		stage_warn(stage,
			   "samples of '%s' have no stacks: perf's own call chains are used (use "
			   "perf record --call-graph dwarf to record stacks)",
			   without->name);
}

int replay_start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct perfdata_replay *replay = data;
	const struct arch *arch;
	int r = header_read(&replay->header, &replay->file.input);

	if (r == 0 && replay->header.is_directory && !replay->more) /* a file inside was named */
		r = -ENOTDIR;
	if (r == 0 && replay->header.is_pipe)
		r = read_pipe_head(replay);
	if (r)
		return fail(stage, replay, r);
	if (!replay->header.events.n)
		return fail(stage, replay, PERFDATA_E_DAMAGED);
	arch = *replay->header.arch ? arch_find_name(replay->header.arch) : arch_host();
	if (!arch) {
		stage_error(
			stage,
			"'%s' was recorded on %s, which is not supported: use a file of x86-64 or "
			"aarch64",
			replay->path, replay->header.arch);
		return -ECANCELED;
	}
	events_settle(&replay->header.events, arch);
	r = find_first_time(stage, replay);
	if (r)
		return fail(stage, replay, r);
	replay->has_host = arch == arch_host() && is_of_this_kernel(&replay->header);
	warn_of_missing_stacks(stage, &replay->header.events);
	fill_hello(replay, hello);
	return 0;
}

static void count(struct stage *stage, struct perfdata_replay *replay)
{
	uint64_t lost = replay->n_lost ? replay->n_lost : replay->n_lost_emitted;

	stage_miss(stage, STAGE_KERNEL_LOST, lost);
	*counters_get(&stage->counters, "processes", "incarnations") = replay->processes.n_upids;
	processes_warn_of_refused(&replay->processes);
	if (replay->order.n_forced)
		*counters_get(&stage->counters, "events", "order-forced") = replay->order.n_forced;
	if (replay->header.n_skipped)
		*counters_get(&stage->counters, "refused", "features") = replay->header.n_skipped;
	if (replay->samples.values.n_refused)
		*counters_get(&stage->counters, "refused", "group-values") =
			replay->samples.values.n_refused;
	stage->end_time = stage->last_time;
}

int replay_run(struct stage *stage, void *data)
{
	struct perfdata_replay *replay = data;
	int r, outcome;

	replay->images.is_elsewhere = !replay->has_host;
	processes_init(&replay->processes, stage, &replay->images);
	replay->processes.proc = proc_view_absent;
	replay->processes.proc.find_build_id = find_build_id;
	replay->processes.proc.arg = replay;
	stage->last_time = replay->header.first_time;
	r = samples_begin(stage, replay);
	if (r < 0)
		return r;
	r = processes_add_kernel(&replay->processes, kernel_build_id(&replay->header),
				 stage->last_time);
	if (r == 0 && replay->header.data_size) /* else perf may still be writing it */
		r = stack_reference_begin(&replay->stack_reference, &replay->file.input,
					  &replay->images);
	if (r < 0)
		return r;
	outcome = replay->early_outcome;
	if (!outcome)
		outcome = read_file(stage, replay, &replay->file);
	else if (outcome == PERFDATA_END)
		outcome = 0;
	if (outcome == 0)
		outcome = read_more(stage, replay);
	if (outcome < 0 && outcome == stage->writer.error)
		return outcome;
	r = let_go(stage, replay, UINT64_MAX); /* all queued records, even of a damaged file */
	if (r < 0)
		return r;
	count(stage, replay);
	samples_warn_of_skipped(stage, replay);
	return outcome ? fail(stage, replay, outcome) : 0;
}

static void close_file(struct replay_file *file)
{
	records_deinit(&file->records);
	input_close(&file->input);
}

void replay_deinit(void *data)
{
	struct perfdata_replay *replay = data;

	order_deinit(&replay->order);
	group_values_deinit(&replay->samples.values);
	processes_deinit(&replay->processes);
	images_deinit(&replay->images);
	kernel_names_close(&replay->kernel_names);
	header_deinit(&replay->header);
	for (size_t i = 0; i < replay->n_more; i++)
		close_file(&replay->more[i]);
	free(replay->more);
	close_file(&replay->file);
	stack_reference_deinit(&replay->stack_reference);
}
