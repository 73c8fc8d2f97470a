/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>

#include "perf-source/bpf/context-map.h"
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

static int set_contexts(struct sample_bpf *skeleton, const struct sample_settings *settings)
{
	const struct context_program *contexts = settings->contexts;
	int r = CONTEXT_MAP_SET(skeleton, contexts, context_places);

	skeleton->rodata->reads_contexts = contexts && context_program_is_loaded(contexts);
	skeleton->rodata->reads_walks = skeleton->rodata->reads_contexts && settings->has_walks;
	if (r == 0)
		r = CONTEXT_MAP_SET(skeleton, contexts, walk_programs);
	return r < 0 ? r : CONTEXT_MAP_SET(skeleton, contexts, walk_seen);
}

/* An item for each CPU, or the first program's: all write to one ring of a CPU. 0 or -errno. */
static int set_for_cpus(struct bpf_map *map, const struct bpf_map *of_first)
{
	int n_cpus = libbpf_num_possible_cpus();

	if (of_first)
		return bpf_map__reuse_fd(map, bpf_map__fd(of_first));
	return n_cpus < 0 ? n_cpus : bpf_map__set_max_entries(map, n_cpus);
}

/* Without walks of stacks their maps are never looked at. */
static int set_unwinding(struct sample_bpf *skeleton, const struct sample_settings *settings)
{
	const struct sample_bpf *first = settings->first ? settings->first->skeleton : NULL;
	struct bpf_map *const shared[] = {
		skeleton->maps.unwind_processes,
		skeleton->maps.unwind_mappings,
		skeleton->maps.unwind_images,
		skeleton->maps.unwind_tables,
	};
	bool walks = settings->stack_size && settings->walks_stacks;
	const struct bpf_map *const of_first[] = {
		first ? first->maps.unwind_processes : NULL,
		first ? first->maps.unwind_mappings : NULL,
		first ? first->maps.unwind_images : NULL,
		first ? first->maps.unwind_tables : NULL,
	};
	int r = 0;

	skeleton->rodata->walks_stacks = walks;
	skeleton->rodata->judged_every = settings->judged_every;
	bpf_program__set_autoload(skeleton->progs.at_exec, walks && !first);
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared) && r == 0; i++)
		if (!walks)
			r = bpf_map__set_max_entries(shared[i], 1);
		else if (first)
			r = bpf_map__reuse_fd(shared[i], bpf_map__fd(of_first[i]));
	if (r < 0 || !walks)
		return r;
	r = set_for_cpus(skeleton->maps.words_walks, first ? first->maps.words_walks : NULL);
	return r < 0 ? r
		     : set_for_cpus(skeleton->maps.words_caches,
				    first ? first->maps.words_caches : NULL);
}

static int set_memory(struct sample_bpf *skeleton, const struct sample_settings *settings)
{
	const struct sample_bpf *first = settings->first ? settings->first->skeleton : NULL;
	int r;

	if (!settings->stack_size && !skeleton->rodata->reads_contexts)
		return 0;
	skeleton->rodata->stack_size = settings->stack_size;
	skeleton->rodata->stack_limit = settings->stack_limit;
	r = set_for_cpus(skeleton->maps.readers, first ? first->maps.readers : NULL);
	if (r < 0 || !skeleton->rodata->reads_walks)
		return r;
	return set_for_cpus(skeleton->maps.walk_works, first ? first->maps.walk_works : NULL);
}

/* The program of events is attached by those. 0 or -errno. */
static int attach(struct sample_bpf *skeleton)
{
	if (!bpf_program__autoload(skeleton->progs.at_exec))
		return 0;
	skeleton->links.at_exec = bpf_program__attach(skeleton->progs.at_exec);
	return skeleton->links.at_exec ? 0 : -errno;
}

int sample_program_load(struct sample_program *program, const struct sample_settings *settings)
{
	struct sample_bpf *skeleton;
	int r;

	libbpf_set_print(NULL);
	program->skeleton = skeleton = sample_bpf__open();
	if (!skeleton)
		return -errno;
	if (settings->n)
		memcpy(skeleton->rodata->terms, settings->terms,
		       settings->n * sizeof(*settings->terms));
	skeleton->rodata->n_terms = settings->n;
	r = set_followed(skeleton, settings->follow);
	if (r == 0)
		r = set_contexts(skeleton, settings);
	if (r == 0)
		r = set_memory(skeleton, settings);
	if (r == 0)
		r = set_unwinding(skeleton, settings);
	if (r == 0)
		r = sample_bpf__load(skeleton);
	if (r == 0)
		r = attach(skeleton);
	if (r < 0)
		sample_program_unload(program);
	return r;
}

int sample_program_set_output(const struct sample_program *program, uint32_t cpu, int event)
{
	if (cpu >= RING_SHARE_CPUS_MAX)
		return -E2BIG;
	return bpf_map__update_elem(program->skeleton->maps.parts, &cpu, sizeof(cpu), &event,
				    sizeof(event), 0);
}

struct ring_share *sample_program_share(const struct sample_program *program)
{
	return &program->skeleton->bss->share;
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
