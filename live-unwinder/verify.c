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

int verify_start(struct verify *verify, struct stage *stage, const struct wire_hello *hello,
		 size_t n_frames_max)
{
	if (!verify->every)
		return 0;
	verify->n_compared = counters_get(&stage->counters, "verify", "compared");
	verify->n_different = counters_get(&stage->counters, "verify", "different");
	verify->frames = calloc(n_frames_max + 1, sizeof(*verify->frames));
	if (!verify->frames)
		return -ENOMEM;
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
