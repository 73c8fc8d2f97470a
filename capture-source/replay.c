/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture-source/replay.h"
#include "common/arch/arch.h"
#include "common/base/text.h"
#include "common/file/compression.h"

enum { LOOKED_AT = 4096 }; /* bytes examined to recognize text */

static int fail(struct stage *stage, const struct replay *replay, const char *why)
{
	stage_error(stage, "'%s': %s", strcmp(replay->path, "-") ? replay->path : "standard input",
		    why);
	return -ECANCELED;
}

/* Whether it begins with a hello record: a header, then the magic number. */
static bool is_stream(const struct capture_file *file)
{
	const uint64_t magic = WIRE_MAGIC;
	size_t at = sizeof(struct wire_header);

	return file->size >= at + sizeof(magic) &&
	       !memcmp((const char *)file->data + at, &magic, sizeof(magic));
}

/* Whether the first line is text that ends with a number, like folded stacks. */
static bool is_folded(const struct capture_file *file)
{
	size_t size = file->size < LOOKED_AT ? file->size : LOOKED_AT;
	const char *line_end = size ? memchr(file->data, '\n', size) : NULL;

	return !memchr(file->data, 0, size) &&
	       (line_end ? line_end > file->data && line_end[-1] >= '0' && line_end[-1] <= '9'
			 : size == LOOKED_AT);
}

static int fail_of_other_data(struct stage *stage, const struct replay *replay)
{
	const char *program = compression_program(replay->file.data, replay->file.size);
	char why[128];

	if (is_stream(&replay->file))
		return fail(stage, replay,
			    "it is already a stream: run live-unwinder < FILE | symbolizer | "
			    "capture-sink out.syscap");
	if (!program || text_has_ending(replay->path, ".pb.gz"))
		return fail(stage, replay,
			    "it is neither a Sysprof capture nor folded stacks (other formats of "
			    "capture-sink cannot be read back)");
	snprintf(why, sizeof(why),
		 strcmp(replay->path, "-") ? COMPRESSION_OF_FILE : COMPRESSION_OF_INPUT, program);
	return fail(stage, replay, why);
}

int replay_open(struct stage *stage, void *self)
{
	struct replay *replay = self;
	int r = capture_file_open(&replay->file, replay->path);

	return r < 0 ? fail(stage, replay, strerror(-r)) : 0;
}

int replay_start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct replay *replay = self;

	replay->stage = stage;
	locations_init(&replay->locations, stage);
	hello->machine = arch_host()->elf_machine;
	hello->register_mask = arch_host()->register_mask;
	hello->clock = WIRE_clock_MONOTONIC;
	if (syscap_file_is(replay->file.data, replay->file.size))
		return replay_syscap_start(stage, replay, hello);
	replay->is_folded = true;
	if (replay->file.size && !is_folded(&replay->file))
		return fail_of_other_data(stage, replay);
	snprintf(hello->event, sizeof(hello->event), "samples");
	return 0;
}

int replay_run(struct stage *stage, void *self)
{
	struct replay *replay = self;
	int r = replay->is_folded ? replay_folded_run(stage, replay)
				  : replay_syscap_run(stage, replay);

	if (replay->locations.n_refused)
		*counters_get(&stage->counters, "refused", "places") = replay->locations.n_refused;
	return r;
}

void replay_deinit(void *self)
{
	struct replay *replay = self;

	replay_syscap_deinit(replay);
	locations_deinit(&replay->locations);
	capture_file_close(&replay->file);
}
