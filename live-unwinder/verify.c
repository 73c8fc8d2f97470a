/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file/output-file.h"
#include "live-unwinder/verify.h"

static int open_dump(struct verify *verify, const struct wire_hello *hello)
{
	struct wire_hello copy = *hello;
	int r;

	verify->dump_fd = output_file_open(verify->dump_path, OUTPUT_FILE_NEW);
	if (verify->dump_fd < 0)
		return verify->dump_fd;
	r = wire_writer_init(&verify->dump, verify->dump_fd);
	if (r < 0)
		return r;
	copy.image_server[0] = 0; /* no server will answer there */
	copy.token_high = copy.token_low = 0;
	return wire_writer_put(&verify->dump, WIRE_RECORD_hello, &copy);
}

static void count(struct verify *verify)
{
	verify->n_compared = counters_get(verify->counters, "verify", "compared");
	verify->n_different = counters_get(verify->counters, "verify", "different");
}

int verify_start(struct verify *verify, struct stage *stage, const struct wire_hello *hello,
		 size_t n_frames_max)
{
	verify->counters = &stage->counters;
	verify->frames = calloc(n_frames_max + 1, sizeof(*verify->frames));
	if (!verify->frames)
		return -ENOMEM;
	if (verify->every)
		count(verify);
	return verify->dump_path ? open_dump(verify, hello) : 0;
}
static int put_end(struct verify *verify, uint64_t time)
{
	struct wire_total totals[WIRE_TYPE_MAX];
	struct wire_end end = { .time = time, .totals.data = totals };

	for (size_t type = 0; type < WIRE_TYPE_MAX; type++)
		if (verify->dump.totals[type])
			totals[end.totals.n++] =
				(struct wire_total){ type, verify->dump.totals[type] };
	return wire_writer_put(&verify->dump, WIRE_RECORD_end, &end);
}

int verify_finish(struct verify *verify, uint64_t time)
{
	int r;

	if (verify->dump_fd < 0)
		return 0;
	r = put_end(verify, time);
	return r < 0 ? r : wire_writer_flush(&verify->dump);
}

void verify_deinit(struct verify *verify)
{
	if (verify->dump_fd >= 0) {
		wire_writer_deinit(&verify->dump);
		close(verify->dump_fd);
	}
	free(verify->frames);
}

bool verify_is_due(struct verify *verify)
{
	return verify->every && verify->n_passed++ % verify->every == 0;
}

struct unwinding verify_begin(const struct verify *verify, const struct unwinding *unwinding)
{
	struct unwinding other = *unwinding;

	other.frames = verify->frames;
	other.stack_pointers = NULL;
	return other;
}

static int put_image(struct verify *verify, const struct image *image)
{
	const struct wire_image record = image_record(image);
	const struct wire_image_data data = { image->number, { image->bytes, image->n_bytes } };
	struct wire_image_id id;
	int r = wire_writer_put(&verify->dump, WIRE_RECORD_image, &record);

	image_table_get_id(image, &id);
	/* All that a perf.data replay has; otherwise readers would prefer it to what follows. */
	if (r == 0 && image->build_id_size && !image->state.status && !image->bytes)
		r = wire_writer_put(&verify->dump, WIRE_RECORD_image_id, &id);
	if (r == 0 && image->state.status)
		r = wire_writer_put(&verify->dump, WIRE_RECORD_image_state, &image->state);
	if (r == 0 && image->bytes)
		r = wire_writer_put(&verify->dump, WIRE_RECORD_image_data, &data);
	return r;
}

/* Writes a process with its current mappings and their images; repeated records are harmless. */
static int put_process(struct verify *verify, const struct identity *identity,
		       const struct process *process, uint64_t time)
{
	const struct wire_process record = {
		.process = process->number,
		.time = time,
		.pid = process->pid,
		.origin = process->number ? process->origin : WIRE_origin_FOUND,
		.name = wire_string(process->name, sizeof(process->name) - 1),
	};
	int r = process->number ? wire_writer_put(&verify->dump, WIRE_RECORD_process, &record) : 0;

	MAPPING_TABLE_EACH(mapping, process_mappings(process))
	{
		const struct image *image = image_table_find(&identity->images, mapping->image);
		const struct wire_mapping mapping_record = {
			.mapping = mapping->number,
			.process = process->number,
			.time = time,
			.start = mapping->start,
			.length = mapping->end - mapping->start,
			.offset = mapping->offset,
			.image = mapping->image,
		};

		if (r == 0 && image)
			r = put_image(verify, image);
		if (r == 0)
			r = wire_writer_put(&verify->dump, WIRE_RECORD_mapping, &mapping_record);
	}
	return r;
}

static int dump(struct verify *verify, const struct identity *identity,
		const struct unwinding *unwinding)
{
	uint64_t time = unwinding->sample->time;
	int r = 0;

	if (verify->dump_fd < 0 || verify->n_dumped == VERIFY_DUMPED_MAX)
		return 0;
	verify->n_dumped++;
	r = put_process(verify, identity, &identity->processes.kernel, time);
	if (r == 0)
		r = put_process(verify, identity, unwinding->process, time);
	if (r == 0)
		r = wire_writer_put(&verify->dump, WIRE_RECORD_sample, unwinding->sample);
	return r < 0 ? r : wire_writer_flush(&verify->dump);
}

int verify_compare(struct verify *verify, const struct identity *identity,
		   const struct unwinding *answer, const struct unwinding *reference)
{
	++*verify->n_compared;
	if (unwinding_is_confirmed(answer, reference))
		return 0;
	++*verify->n_different;
	return dump(verify, identity, reference);
}

/* Whether the copy of a stack ends on the way on which the words lead farther. */
static bool leads_farther(const struct unwinding *by_words, const struct unwinding *copied)
{
	bool is_cut = copied->end == WIRE_stack_end_TRUNCATED ||
		      copied->end == WIRE_stack_end_STACK_ABSENT;

	return is_cut && by_words->n_frames >= copied->n_frames &&
	       !memcmp(by_words->frames, copied->frames,
		       copied->n_frames * sizeof(*copied->frames));
}

static void take_frames(struct unwinding *copied, const struct unwinding *by_words)
{
	memcpy(copied->frames, by_words->frames, by_words->n_frames * sizeof(*copied->frames));
	copied->n_frames = by_words->n_frames;
	copied->end = by_words->end;
	copied->failed_image = by_words->failed_image;
}

int verify_judge(struct verify *verify, const struct identity *identity,
		 const struct unwinding *by_words, struct unwinding *copied)
{
	++*counters_get(verify->counters, "judge", "compared");
	if (unwinding_is_same(by_words, copied))
		return 0;
	if (leads_farther(by_words, copied)) {
		++*counters_get(verify->counters, "judge", "copy-cut");
		take_frames(copied, by_words);
		return 0;
	}
	++*counters_get(verify->counters, "judge", "different");
	verify->n_judged_different++;
	return dump(verify, identity, copied);
}
