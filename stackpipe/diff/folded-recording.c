/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/stage/stage.h"
#include "stackpipe/diff/folded-recording.h"
#include "stackpipe/input.h"

static int add_sink(struct pipeline *pipeline, const char *heap)
{
	const char *const words[] = { "-q", "-f", "folded", "-", heap ? "--heap" : NULL, heap };
	int r = pipeline_add(pipeline, "capture-sink");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && words[i] && r == 0; i++)
		r = pipeline_add_argument(pipeline, words[i]);
	return r;
}

int folded_recording_read(struct folded_counts *counts, const char *path, int side,
			  const char *command, const char *heap)
{
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { 0 };
	_cleanup_file_ FILE *in = NULL;
	int r = input_add_stages(&pipeline, path, command), fd;

	if (r == 0)
		r = add_sink(&pipeline, heap);
	if (r < 0 || pipeline_start(&pipeline, &fd) != STAGE_EXIT_OK)
		return STAGE_EXIT_FAILED;
	in = fdopen(fd, "r");
	r = in ? folded_counts_read(counts, in, side) : -errno;
	if (r < 0)
		fprintf(stderr, "stackpipe %s: error: %s\n", command, strerror(-r));
	r = pipeline_wait(&pipeline) || r < 0;
	return r ? STAGE_EXIT_FAILED : STAGE_EXIT_OK;
}
