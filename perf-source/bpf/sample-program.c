/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "perf-source/bpf/follow.skel.h"
#include "perf-source/bpf/sample-program.h"
#include "perf-source/bpf/sample.skel.h"

/* Gives the program the set of followed processes, or an empty one that it never looks at. */
static int set_followed(struct sample_bpf *skeleton, const struct follow_program *follow)
{
	struct bpf_map *map = skeleton->maps.followed;

	if (!follow_program_is_loaded(follow))
		return bpf_map__set_max_entries(map, 1);
	skeleton->rodata->follows = true;
	return bpf_map__reuse_fd(map, bpf_map__fd(follow->skeleton->maps.followed));
}

int sample_program_load(struct sample_program *program, const struct sample_term *terms, size_t n,
			const struct follow_program *follow)
{
	struct sample_bpf *skeleton;
	int r;

	libbpf_set_print(NULL);
	program->skeleton = skeleton = sample_bpf__open();
	if (!skeleton)
		return -errno;
	memcpy(skeleton->rodata->terms, terms, n * sizeof(*terms));
	skeleton->rodata->n_terms = n;
	r = set_followed(skeleton, follow);
	if (r == 0)
		r = sample_bpf__load(skeleton);
	if (r < 0)
		sample_program_unload(program);
	return r;
}

void sample_program_unload(struct sample_program *program)
{
	sample_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}

int sample_program_fd(const struct sample_program *program)
{
	return program->skeleton ? bpf_program__fd(program->skeleton->progs.at_sample) : -1;
}

uint64_t sample_program_count_skipped(const struct sample_program *program)
{
	return program->skeleton ? program->skeleton->bss->n_skipped : 0;
}
