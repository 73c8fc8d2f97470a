/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "common/base/clock.h"
#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/context.skel.h"
#include "perf-source/bpf/pid-namespace.h"

/* Without walk programs their maps are never looked at. */
static int set_walks(struct context_bpf *skeleton, uint32_t walks_max)
{
	int r = bpf_map__set_max_entries(skeleton->maps.walk_programs, walks_max ? walks_max : 1);

	bpf_program__set_autoload(skeleton->progs.at_fork, walks_max);
	return r < 0 || walks_max ? r : bpf_map__set_max_entries(skeleton->maps.walk_seen, 1);
}

/* Without `watches` the program of prctl(2) is left out: not all kernels trace functions. */
static int load(struct context_program *program, uint32_t walks_max)
{
	int r;

	program->skeleton = context_bpf__open();
	if (!program->skeleton)
		return -errno;
	bpf_program__set_autoload(program->skeleton->progs.at_prctl, program->watches);
	r = set_walks(program->skeleton, walks_max);
	if (r == 0)
		r = context_bpf__load(program->skeleton);
	if (r == 0)
		r = context_bpf__attach(program->skeleton);
	if (r < 0)
		context_program_deinit(program);
	return r;
}

int context_program_init(struct context_program *program, uint32_t walks_max)
{
	int r;

	*program = (struct context_program){ .watches = true };
	if (!pid_namespace_is_initial())
		return -EOPNOTSUPP;
	libbpf_set_print(NULL);
	r = load(program, walks_max);
	if (r == 0)
		return 0;
	program->watches = false;
	return load(program, walks_max);
}

void context_program_deinit(struct context_program *program)
{
	context_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}

/* Updates an item of a process. */
static int update(const struct bpf_map *map, uint32_t pid, const void *value, size_t size,
		  uint64_t how)
{
	return bpf_map__update_elem(map, &pid, sizeof(pid), value, size, how);
}

/* The same if no item was there. */
static int add(const struct bpf_map *map, uint32_t pid, const void *value, size_t size)
{
	int r = update(map, pid, value, size, BPF_NOEXIST);

	return r == -EEXIST ? 0 : r;
}

int context_program_expect(const struct context_program *program, uint32_t pid)
{
	static const struct context_place none;

	return add(program->skeleton->maps.context_places, pid, &none, sizeof(none));
}

int context_program_expect_walk(const struct context_program *program, uint32_t pid)
{
	static const struct walk_program none;

	return add(program->skeleton->maps.walk_programs, pid, &none, sizeof(none));
}

int context_program_set(const struct context_program *program, uint32_t pid,
			const struct context_place *place)
{
	return update(program->skeleton->maps.context_places, pid, place, sizeof(*place),
		      BPF_EXIST);
}

int context_program_set_walk(const struct context_program *program, uint32_t pid,
			     const struct walk_program *walk)
{
	struct walk_program item = *walk;

	item.incarnation = clock_now(CLOCK_MONOTONIC);
	return update(program->skeleton->maps.walk_programs, pid, &item, sizeof(item), BPF_EXIST);
}

bool context_program_take(struct context_program *program, uint32_t *ret_pid, uint64_t *ret_address)
{
	const struct bpf_map *named = program->skeleton->maps.named;
	uint64_t n_named = __atomic_load_n(&program->skeleton->bss->n_named, __ATOMIC_RELAXED);

	if (program->n_taken == n_named)
		return false;
	/* It may be named again meanwhile, but what it has then is read after this. */
	if (!bpf_map__get_next_key(named, NULL, ret_pid, sizeof(*ret_pid)) &&
	    !bpf_map__lookup_and_delete_elem(named, ret_pid, sizeof(*ret_pid), ret_address,
					     sizeof(*ret_address), 0))
		return true;
	program->n_taken = n_named;
	return false;
}

uint64_t context_program_count_refused(const struct context_program *program)
{
	return program->skeleton ? program->skeleton->bss->n_refused : 0;
}

uint64_t context_program_count_refused_walks(const struct context_program *program)
{
	return program->skeleton ? program->skeleton->bss->n_walks_refused : 0;
}
