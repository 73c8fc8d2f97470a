/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "perf-source/bpf/context-map.h"
#include "perf-source/bpf/pid-namespace.h"
#include "perf-source/bpf/switch-program.h"
#include "perf-source/bpf/switch.skel.h"

enum {
	VISITS_MAX = 2 * SWITCH_THREADS_MAX, /* a walk begins anew if its key was deleted */
};

static int set_contexts(struct switch_bpf *skeleton, const struct switch_program_settings *settings)
{
	const struct context_program *contexts = settings->contexts;
	int r = CONTEXT_MAP_SET(skeleton, contexts, context_places);

	skeleton->rodata->reads_contexts = contexts && context_program_is_loaded(contexts);
	skeleton->rodata->reads_walks = skeleton->rodata->reads_contexts && settings->has_walks;
	if (r == 0)
		r = CONTEXT_MAP_SET(skeleton, contexts, walk_programs);
	return r < 0 ? r : CONTEXT_MAP_SET(skeleton, contexts, walk_seen);
}

/* An item for each CPU. */
static int set_memory(struct switch_bpf *skeleton)
{
	int n_cpus = libbpf_num_possible_cpus(), r;

	if (!skeleton->rodata->reads_walks)
		return 0;
	r = n_cpus < 0 ? n_cpus : bpf_map__set_max_entries(skeleton->maps.emitted_walks, n_cpus);
	return r < 0 ? r : bpf_map__set_max_entries(skeleton->maps.walk_works, n_cpus);
}

int switch_program_init(struct switch_program *program,
			const struct switch_program_settings *settings)
{
	int r;

	*program = (struct switch_program){ 0 };
	if (!pid_namespace_is_initial())
		return -EOPNOTSUPP;
	libbpf_set_print(NULL);
	program->skeleton = switch_bpf__open();
	if (!program->skeleton)
		return -errno;
	r = set_contexts(program->skeleton, settings);
	if (r == 0)
		r = set_memory(program->skeleton);
	if (r == 0)
		r = switch_bpf__load(program->skeleton);
	if (r < 0)
		switch_program_deinit(program);
	return r;
}

void switch_program_deinit(struct switch_program *program)
{
	switch_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}

static int set_item(struct bpf_map *map, uint32_t key, int value)
{
	return bpf_map__update_elem(map, &key, sizeof(key), &value, sizeof(value), 0);
}

int switch_program_set_output(struct switch_program *program, uint32_t cpu, int stacks_event,
			      int events_event)
{
	int r = set_item(program->skeleton->maps.stacks, cpu, stacks_event);

	return r < 0 ? r : set_item(program->skeleton->maps.events, cpu, events_event);
}

int switch_program_set_parts_output(struct switch_program *program, uint32_t cpu, int event)
{
	return set_item(program->skeleton->maps.parts, cpu, event);
}

struct ring_share *switch_program_share(const struct switch_program *program)
{
	return &program->skeleton->bss->share;
}

/* Attaches sched_switch last: a thread that is unknown there existed before. */
int switch_program_start(struct switch_program *program, uint64_t begun, uint64_t threshold_ns)
{
	struct switch_bpf *skeleton = program->skeleton;
	const struct {
		struct bpf_program *program;
		struct bpf_link **link;
	} programs[] = {
		{ skeleton->progs.at_waking, &skeleton->links.at_waking },
		{ skeleton->progs.at_exit, &skeleton->links.at_exit },
		{ skeleton->progs.at_exec, &skeleton->links.at_exec },
		{ skeleton->progs.at_fork, &skeleton->links.at_fork },
		{ skeleton->progs.at_switch, &skeleton->links.at_switch },
	};

	skeleton->bss->settings = (struct switch_settings){ begun, threshold_ns };
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		*programs[i].link = bpf_program__attach(programs[i].program);
		if (!*programs[i].link)
			return -errno;
	}
	return 0;
}

void switch_program_stop(struct switch_program *program)
{
	if (program->skeleton)
		switch_bpf__detach(program->skeleton);
}

void switch_program_count(const struct switch_program *program, uint64_t *ret_refused,
			  uint64_t *ret_contradictions)
{
	const struct switch_settings *settings = &program->skeleton->bss->settings;

	*ret_refused = __atomic_load_n(&settings->n_refused, __ATOMIC_RELAXED);
	*ret_contradictions = __atomic_load_n(&settings->n_contradictions, __ATOMIC_RELAXED);
}

void switch_program_set_threshold(struct switch_program *program, uint64_t threshold_ns)
{
	__atomic_store_n(&program->skeleton->bss->settings.threshold_ns, threshold_ns,
			 __ATOMIC_RELAXED);
}

void switch_program_forget(struct switch_program *program, uint32_t tid)
{
	bpf_map__delete_elem(program->skeleton->maps.threads, &tid, sizeof(tid), 0);
}

/* Gets the next key before it calls `each`, which may delete this one. */
int switch_program_each(struct switch_program *program,
			int (*each)(uint32_t tid, const struct switch_thread *thread, void *arg),
			void *arg)
{
	const struct bpf_map *threads = program->skeleton->maps.threads;
	struct switch_thread thread;
	uint32_t tid, next;
	int r = 0, has_next = bpf_map__get_next_key(threads, NULL, &next, sizeof(next));

	for (size_t i = 0; has_next == 0 && i < VISITS_MAX; i++) {
		tid = next;
		has_next = bpf_map__get_next_key(threads, &tid, &next, sizeof(next));
		if (!bpf_map__lookup_elem(threads, &tid, sizeof(tid), &thread, sizeof(thread), 0))
			r = each(tid, &thread, arg);
		if (r < 0)
			return r;
	}
	if (has_next == 0)
		return SWITCH_LOOK_CUT;
	return has_next == -ENOENT ? 0 : has_next;
}
