/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a frame costs with each engine, in memory: all records of STREAM are read first, then its
 * samples are unwound again and again, a batch after the other. A batch is copied before it is
 * timed, so that its bytes are in the CPU's cache, as they are behind a read(2). Prints one line of
 * name=value pairs a stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/base/clock.h"
#include "common/stream/identity.h"
#include "live-unwinder/engine-dwfl.h"
#include "live-unwinder/engine-table.h"

enum {
	ROUNDS = 5,
	FRAMES = 512,
	BATCH_SAMPLES = 64,
	BATCH_BYTES = 256 * 1024,
};

/* A recording, whole, as it was when it ended: no process of it has gone. */
struct recording {
	struct stage stage; /* for its counters */
	struct identity identity;
	struct elf_cache files;
	struct table_store tables;
	struct engine_table *table;
	struct engine_dwfl *dwfl;
	struct wire_sample *samples;
	size_t n_samples, n_allocated;
	struct wire_hello hello;
};

static const struct stage_handler handlers[] = { IDENTITY_HANDLERS(0), { 0 } };

static int keep_sample(struct recording *recording, const struct wire_sample *sample)
{
	struct wire_sample *samples = recording->samples;

	if (sample->registers.n != arch_host()->n_registers || sample->abi != 2)
		return 0;
	if (recording->n_samples == recording->n_allocated) {
		recording->n_allocated = recording->n_allocated * 2 + 1024;
		samples = reallocarray(samples, recording->n_allocated, sizeof(*samples));
		if (!samples)
			return -ENOMEM;
		recording->samples = samples;
	}
	samples[recording->n_samples++] = *sample;
	return 0;
}

static int take(struct recording *recording, uint16_t id, const union wire_view *view)
{
	if (id == WIRE_RECORD_hello)
		recording->hello = view->hello;
	if (id == WIRE_RECORD_sample)
		return keep_sample(recording, &view->sample);
	if (id == WIRE_RECORD_process_exit)
		return 0;
	for (const struct stage_handler *handler = handlers; handler->id; handler++)
		if (handler->id == id)
			return handler->handle(&recording->stage, &recording->identity, view);
	return 0;
}

static int read_all(struct recording *recording, const char *bytes, size_t size)
{
	int r = 0;

	for (size_t at = 0; at < size && r >= 0;) {
		const struct wire_header *header = (const void *)(bytes + at);
		union wire_view view;

		if (size - at < sizeof(*header) || header->size > size - at)
			return -EBADMSG;
		if (!wire_type(header->type) ||
		    wire_decode(wire_type(header->type), header, header->size, 0, &view))
			return -EBADMSG;
		r = take(recording, header->type, &view);
		at += header->size;
	}
	return r < 0 ? r : 0;
}

static const struct table_cache no_cache = { -1 };

static int load(struct recording *recording, const char *path)
{
	static const struct stage_program program = { .name = "engines", .role = STAGE_SINK };
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	struct stat status;
	void *bytes;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	bytes = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return -errno;
	recording->stage.program = &program;
	r = read_all(recording, bytes, status.st_size);
	if (r == 0)
		r = elf_cache_init(&recording->files, &recording->stage,
				   &recording->identity.images, &recording->hello);
	if (r < 0)
		return r;
	table_store_init(&recording->tables, &recording->files, &no_cache, TABLE_STORE_WAIT);
	r = engine_table_new(&recording->tables, &recording->table);
	if (r == 0)
		r = engine_dwfl_new(&recording->files, &recording->dwfl);
	return r;
}

/* One sample by one engine; whether it has an answer. */
static bool by_table(struct recording *recording, struct unwinding *unwinding)
{
	return engine_table_unwind(recording->table, unwinding) == ENGINE_TABLE_OK;
}

static bool by_dwfl(struct recording *recording, struct unwinding *unwinding)
{
	engine_dwfl_unwind(recording->dwfl, unwinding);
	return true;
}

static struct unwinding begin(struct recording *recording, const struct wire_sample *sample,
			      struct wire_frame *frames)
{
	return (struct unwinding){
		.arch = arch_host(),
		.sample = sample,
		.process = process_table_find(&recording->identity.processes, sample->process),
		.frames = frames,
		.n_frames_max = FRAMES,
	};
}

/* Copies samples from the `i`th on, with the zero bytes behind their stacks; how many. */
static size_t copy_batch(const struct recording *recording, size_t i, struct wire_sample *batch)
{
	static char bytes[BATCH_BYTES];
	size_t n = 0, used = 0;

	for (; n < BATCH_SAMPLES && i + n < recording->n_samples; n++) {
		const struct wire_sample *sample = &recording->samples[i + n];
		size_t size = sample->stack.size + 8;

		if (n && used + size > sizeof(bytes))
			break;
		batch[n] = *sample;
		batch[n].stack.data = memcpy(bytes + used, sample->stack.data, size);
		used += (size + 7) & ~7UL;
	}
	return n;
}

/* Nanoseconds of all samples once. */
static uint64_t measure_round(struct recording *recording,
			      bool (*unwind)(struct recording *, struct unwinding *),
			      uint64_t *ret_frames)
{
	static struct wire_frame frames[FRAMES + 1];
	static struct wire_sample batch[BATCH_SAMPLES];
	uint64_t took = 0;
	size_t n;

	*ret_frames = 0;
	for (size_t i = 0; i < recording->n_samples; i += n) {
		uint64_t begun;

		n = copy_batch(recording, i, batch);
		begun = clock_now(CLOCK_MONOTONIC);
		for (size_t k = 0; k < n; k++) {
			struct unwinding unwinding = begin(recording, &batch[k], frames);

			if (unwinding.process)
				unwind(recording, &unwinding);
			*ret_frames += unwinding.n_frames;
		}
		took += clock_now(CLOCK_MONOTONIC) - begun;
	}
	return took;
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* The median round's nanoseconds, and how many frames a round has. */
static uint64_t measure(struct recording *recording,
			bool (*unwind)(struct recording *, struct unwinding *),
			uint64_t *ret_frames)
{
	uint64_t took[ROUNDS];

	for (int round = 0; round < ROUNDS; round++)
		took[round] = measure_round(recording, unwind, ret_frames);
	qsort(took, ROUNDS, sizeof(*took), compare_times);
	return took[ROUNDS / 2];
}

static void compare(struct recording *recording, size_t *ret_same, size_t *ret_left)
{
	static struct wire_frame table_frames[FRAMES + 1], dwfl_frames[FRAMES + 1];

	*ret_same = *ret_left = 0;
	for (size_t i = 0; i < recording->n_samples; i++) {
		struct unwinding table = begin(recording, &recording->samples[i], table_frames);
		struct unwinding dwfl = begin(recording, &recording->samples[i], dwfl_frames);

		if (!table.process || !by_table(recording, &table)) {
			++*ret_left;
			++*ret_same; /* it is dwfl that answers */
			continue;
		}
		by_dwfl(recording, &dwfl);
		*ret_same += unwinding_is_confirmed(&table, &dwfl);
	}
}

static int run(const char *path)
{
	static struct recording recording; /* all of it stays until the end */
	uint64_t table_ns, dwfl_ns, n_frames, n_table_frames;
	size_t n_same, n_left;
	int r;

	recording = (struct recording){ 0 };
	r = load(&recording, path);
	if (r < 0 || !recording.n_samples)
		return r < 0 ? r : -ENODATA;
	compare(&recording, &n_same, &n_left);
	table_ns = measure(&recording, by_table, &n_table_frames);
	dwfl_ns = measure(&recording, by_dwfl, &n_frames);
	printf("stream=%s samples=%zu frames=%" PRIu64 " identical=%.4f%% left_to_dwfl=%.4f%% "
	       "table_ns_a_frame=%.2f dwfl_ns_a_frame=%.1f times=%.1f table_us_a_sample=%.3f "
	       "dwfl_us_a_sample=%.3f\n",
	       path, recording.n_samples, n_frames, 100.0 * n_same / recording.n_samples,
	       100.0 * n_left / recording.n_samples, (double)table_ns / n_table_frames,
	       (double)dwfl_ns / n_frames, (double)dwfl_ns / table_ns,
	       table_ns / 1e3 / recording.n_samples, dwfl_ns / 1e3 / recording.n_samples);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		int r = run(argv[i]);

		if (r == 0)
			continue;
		fprintf(stderr, "engines: '%s': %s\n", argv[i], strerror(-r));
		status = 1;
	}
	return status;
}
