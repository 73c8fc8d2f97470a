/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "perf-source/bpf/follow-program.h"
#include "perf-source/bpf/follow.skel.h"
#include "perf-source/bpf/pid-namespace.h"

int follow_program_init(struct follow_program *program)
{
	int r;

	*program = (struct follow_program){ 0 };
	if (!pid_namespace_is_initial())
		return -EOPNOTSUPP;
	libbpf_set_print(NULL);
	program->skeleton = follow_bpf__open();
	if (!program->skeleton)
		return -errno;
	r = follow_bpf__load(program->skeleton);
	if (r == 0)
		r = follow_bpf__attach(program->skeleton);
	if (r < 0)
		follow_program_deinit(program);
	return r;
}

void follow_program_deinit(struct follow_program *program)
{
	follow_bpf__destroy(program->skeleton);
	program->skeleton = NULL;
}

int follow_program_add(const struct follow_program *program, uint32_t pid)
{
	uint64_t value = 1;

	return bpf_map__update_elem(program->skeleton->maps.followed, &pid, sizeof(pid), &value,
				    sizeof(value), 0);
}

uint64_t follow_program_count_refused(const struct follow_program *program)
{
	return program->skeleton ? program->skeleton->bss->n_refused : 0;
}
