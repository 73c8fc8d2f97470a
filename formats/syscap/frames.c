/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/stream/syscap-format.h"
#include "formats/syscap/frames.h"

int syscap_begin(struct syscap *syscap, struct output *output, uint64_t start_time,
		 uint64_t start_unix_time)
{
	struct syscap_file_header header = {
		.magic = SYSCAP_MAGIC,
		.flags = SYSCAP_VERSION | SYSCAP_LITTLE_ENDIAN_BIT,
		.time = start_time,
		.last_id = SYSCAP_STATE_ID,
	};
	time_t seconds = start_unix_time / NANOSECONDS_A_SECOND;
	struct tm broken_down;

	*syscap = (struct syscap){ .output = output };
	if (gmtime_r(&seconds, &broken_down))
		strftime(header.capture_time, sizeof(header.capture_time), "%Y-%m-%dT%H:%M:%SZ",
			 &broken_down);
	return output_add(output, &header, sizeof(header));
}

/* Reserves a zeroed frame of `size` bytes with its header filled in. NULL: see `ret_error`. */
static void *begin_frame(struct syscap *syscap, enum syscap_frame_type type,
			 struct syscap_time when, size_t size, int *ret_error)
{
	struct syscap_frame *frame;

	size = (size + 7) & ~(size_t)7;
	if (size > SYSCAP_FRAME_MAX) {
		*ret_error = -EMSGSIZE;
		return NULL;
	}
	frame = output_reserve(syscap->output, size, ret_error);
	if (!frame)
		return NULL;
	memset(frame, 0, size);
	*frame = (struct syscap_frame){
		.size = size,
		.cpu = when.cpu,
		.pid = when.pid,
		.time = when.time,
		.type = type,
	};
	return frame;
}

/* Writes an index frame: parallel readers may begin here. */
static int put_index(struct syscap *syscap, uint64_t time)
{
	uint64_t position = output_position(syscap->output);
	struct syscap_time when = { time, -1, -1 };
	struct syscap_index_frame *index;
	int error;

	index = begin_frame(syscap, SYSCAP_TIMESTAMP, when, sizeof(*index), &error);
	if (!index)
		return error;
	/* Still true after a flush: positions include what is in the buffer. */
	index->frame.padding2 = SYSCAP_INDEX_MARK;
	index->previous = syscap->last_index;
	output_commit(syscap->output, index->frame.size);
	syscap->last_index = position;
	return 0;
}

static int end_frame(struct syscap *syscap, struct syscap_frame *frame)
{
	uint64_t time = frame->time;

	output_commit(syscap->output, frame->size);
	if (++syscap->n_frames % SYSCAP_FRAMES_AN_INDEX || !syscap->output->is_seekable)
		return 0;
	return put_index(syscap, time);
}

int syscap_put_sample(struct syscap *syscap, struct syscap_time when, int32_t tid,
		      const uint64_t *addresses, size_t n)
{
	struct syscap_sample_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_SAMPLE, when, sizeof(*frame) + n * sizeof(*addresses),
			    &error);
	if (!frame)
		return error;
	frame->n_addresses = n;
	frame->tid = tid;
	memcpy(frame->addresses, addresses, n * sizeof(*addresses));
	return end_frame(syscap, &frame->frame);
}

int syscap_put_allocation(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  uint64_t address, uint64_t size, const uint64_t *addresses, size_t n)
{
	struct syscap_allocation_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_ALLOCATION, when,
			    sizeof(*frame) + n * sizeof(*addresses), &error);
	if (!frame)
		return error;
	frame->address = address;
	frame->size = size;
	frame->tid = tid;
	frame->n_addresses = n;
	frame->padding = 0;
	if (n)
		memcpy(frame->addresses, addresses, n * sizeof(*addresses));
	return end_frame(syscap, &frame->frame);
}

/* Sysprof crashes on named addresses of a process without this frame. */
int syscap_put_process(struct syscap *syscap, struct syscap_time when, const char *name)
{
	struct syscap_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_PROCESS, when, sizeof(*frame) + strlen(name) + 1,
			    &error);
	if (!frame)
		return error;
	strcpy((char *)(frame + 1), name);
	return end_frame(syscap, frame);
}

int syscap_put_exit(struct syscap *syscap, struct syscap_time when)
{
	struct syscap_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_EXIT, when, sizeof(*frame), &error);
	return frame ? end_frame(syscap, frame) : error;
}

int syscap_put_map(struct syscap *syscap, struct syscap_time when, uint64_t start, uint64_t end,
		   uint64_t offset, uint64_t inode, const char *path, const char *build_id)
{
	size_t path_size = strlen(path) + 1, id_size = build_id ? strlen(build_id) + 2 : 0;
	struct syscap_map_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_MAP, when, sizeof(*frame) + path_size + id_size, &error);
	if (!frame)
		return error;
	frame->start = start;
	frame->end = end;
	frame->offset = offset;
	frame->inode = inode;
	memcpy(frame->path, path, path_size);
	if (build_id) {
		frame->path[path_size] = '@';
		strcpy(frame->path + path_size + 1, build_id);
	}
	return end_frame(syscap, &frame->frame);
}

int syscap_put_jitmap(struct syscap *syscap, struct syscap_time when, uint64_t address,
		      const char *name)
{
	struct syscap_jitmap_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_JITMAP, when, sizeof(*frame) + strlen(name) + 1, &error);
	if (!frame)
		return error;
	frame->n_entries = 1;
	frame->address = address;
	strcpy(frame->name, name);
	return end_frame(syscap, &frame->frame);
}

int syscap_put_chunk(struct syscap *syscap, struct syscap_time when, const char *path,
		     const void *data, size_t size, int is_last)
{
	struct syscap_chunk_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_FILE_CHUNK, when, sizeof(*frame) + size, &error);
	if (!frame)
		return error;
	frame->is_last = is_last;
	frame->size = size;
	snprintf(frame->path, sizeof(frame->path), "%s", path);
	memcpy(frame->data, data, size);
	return end_frame(syscap, &frame->frame);
}

int syscap_put_metadata(struct syscap *syscap, struct syscap_time when, const char *id,
			const char *value)
{
	struct syscap_metadata_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_METADATA, when, sizeof(*frame) + strlen(value) + 1,
			    &error);
	if (!frame)
		return error;
	snprintf(frame->id, sizeof(frame->id), "%s", id);
	strcpy(frame->value, value);
	return end_frame(syscap, &frame->frame);
}

int syscap_put_mark(struct syscap *syscap, struct syscap_time when, uint64_t duration,
		    const char *group, const char *name, const char *message)
{
	struct syscap_mark_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_MARK, when, sizeof(*frame) + strlen(message) + 1,
			    &error);
	if (!frame)
		return error;
	frame->duration = duration;
	snprintf(frame->group, sizeof(frame->group), "%s", group);
	snprintf(frame->name, sizeof(frame->name), "%s", name);
	strcpy(frame->message, message);
	return end_frame(syscap, &frame->frame);
}

int syscap_put_log(struct syscap *syscap, struct syscap_time when, uint16_t severity,
		   const char *domain, const char *text)
{
	struct syscap_log_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_LOG, when, sizeof(*frame) + strlen(text) + 1, &error);
	if (!frame)
		return error;
	frame->severity = severity;
	snprintf(frame->domain, sizeof(frame->domain), "%s", domain);
	strcpy(frame->text, text);
	return end_frame(syscap, &frame->frame);
}

static uint32_t type_of(const struct syscap_counter *counter)
{
	return counter->divisor > 1 ? SYSCAP_COUNTER_DOUBLE : SYSCAP_COUNTER_INT64;
}

/* In the representation of its type. */
static int64_t value_of(const struct syscap_counter *counter)
{
	double quotient = (double)counter->value / (counter->divisor ? counter->divisor : 1);
	int64_t bits;

	if (type_of(counter) == SYSCAP_COUNTER_INT64)
		return counter->value;
	memcpy(&bits, &quotient, sizeof(bits));
	return bits;
}

int syscap_define_counters(struct syscap *syscap, struct syscap_time when,
			   const struct syscap_counter *counters, size_t n)
{
	struct syscap_counters_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_CTRDEF, when,
			    sizeof(*frame) + n * sizeof(struct syscap_counter_frame_entry), &error);
	if (!frame)
		return error;
	frame->n = n;
	for (size_t i = 0; i < n; i++) {
		struct syscap_counter_frame_entry *counter = &frame->counters[i];

		snprintf(counter->category, sizeof(counter->category), "%s", counters[i].category);
		snprintf(counter->name, sizeof(counter->name), "%s", counters[i].name);
		snprintf(counter->description, sizeof(counter->description), "%s",
			 counters[i].description);
		counter->id_and_type = counters[i].id | type_of(&counters[i]) << 24;
		counter->value = value_of(&counters[i]);
	}
	return end_frame(syscap, &frame->frame);
}

int syscap_set_counters(struct syscap *syscap, struct syscap_time when,
			const struct syscap_counter *counters, size_t n)
{
	struct syscap_counter_values_frame *frame;
	int error;

	frame = begin_frame(syscap, SYSCAP_CTRSET, when, sizeof(*frame), &error);
	if (!frame)
		return error;
	frame->n_groups = 1;
	for (size_t i = 0; i < n && i < SYSCAP_COUNTERS_A_GROUP; i++) {
		frame->ids[i] = counters[i].id;
		frame->values[i] = value_of(&counters[i]);
	}
	return end_frame(syscap, &frame->frame);
}

int syscap_set_end_time(struct syscap *syscap, uint64_t end_time)
{
	struct __attribute__((packed)) {
		uint64_t end_time, last_index;
	} ends = { end_time, syscap->last_index };

	return output_patch(syscap->output, offsetof(struct syscap_file_header, end_time), &ends,
			    sizeof(ends));
}
