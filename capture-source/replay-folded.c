/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folded stacks: "comm;outermost;…;leaf N", with flamegraph.pl's marks. They have names only: all
 * samples are at time 0, and each comm is a process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture-source/replay.h"
#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/base/hash-table.h"

enum {
	COMMS_MAX = 1 << 20,
	FRAMES_MAX = WIRE_FRAMES_MAX,
	NAME_SIZE = 4096,
};

#define SAMPLES_MAX (1ULL << 53) /* of all lines: the exact range of numbers in JSON */

struct comm {
	UT_hash_handle hh;
	struct location_process process;
	char name[];
};

struct folded {
	struct replay *replay;
	struct comm *comms;
	char *line;		     /* a copy, with zero bytes in place of separators */
	char *names[FRAMES_MAX + 1]; /* the comm, then frames from the outermost */
	size_t n_names;
	struct wire_frame frames[FRAMES_MAX];
	uint64_t n_samples, n_refused;
};

static int find_comm(struct folded *folded, const char *name, struct comm **ret)
{
	struct locations *locations = &folded->replay->locations;
	struct comm *comm;
	int r;

	HASH_FIND_STR(folded->comms, name, comm);
	*ret = comm;
	if (comm)
		return 0;
	if (HASH_COUNT(folded->comms) == COMMS_MAX)
		return -ENOSPC;
	comm = calloc(1, sizeof(*comm) + strlen(name) + 1);
	if (!comm)
		return -ENOMEM;
	strcpy(comm->name, name);
	HASH_ADD_STR(folded->comms, name, comm);
	if (!HASH_HAS(hh, comm)) {
		free(comm);
		return -ENOMEM;
	}
	*ret = comm;
	r = locations_add_process(locations, &comm->process, HASH_COUNT(folded->comms), name, NULL,
				  0);
	return r < 0 ? r
		     : locations_name_thread(locations, &comm->process, comm->process.pid, name, 0);
}

static void free_comms(struct folded *folded)
{
	struct comm *comm, *next;

	HASH_ITER(hh, folded->comms, comm, next)
	{
		HASH_DEL(folded->comms, comm);
		mapping_table_deinit(&comm->process.mappings);
		free(comm);
	}
}

/* Cuts off and returns the number after the last blank; 0: there is none. */
static uint64_t cut_count(char *line)
{
	char *blank = strrchr(line, ' '), *end;
	uint64_t n;

	if (!blank || blank[1] < '0' || blank[1] > '9')
		return 0;
	errno = 0;
	n = strtoull(blank + 1, &end, 10);
	if (*end || errno)
		return 0;
	*blank = 0;
	return n;
}

static bool split(struct folded *folded, char *line)
{
	folded->n_names = 0;
	for (char *name = strtok(line, ";"); name; name = strtok(NULL, ";")) {
		if (folded->n_names == FRAMES_MAX + 1)
			return false;
		folded->names[folded->n_names++] = name;
	}
	return folded->n_names > 0;
}

/* Makes one frame of a function and the calls inlined into it, `n` names in all. */
static int make_frame(struct folded *folded, struct comm *comm, char *const *names, size_t n,
		      struct wire_frame *ret)
{
	char cut[NAME_SIZE], inlined[NAME_SIZE], proved[NAME_SIZE];
	struct location_name name = { .name = names[0] };
	enum location_kind kind = LOCATION_CODE;
	uint32_t flags = 0;
	int r;

	if (locations_cut_mark(names[0], "_[k]", cut, sizeof(cut)))
		kind = LOCATION_KERNEL;
	else if (locations_cut_mark(names[0], "_[j]", cut, sizeof(cut)))
		kind = LOCATION_JIT;
	if (kind != LOCATION_CODE)
		name.name = cut;
	name.name = locations_cut_step_mark(name.name, proved, sizeof(proved), &flags);
	for (size_t i = n; --i && name.n_inlined < LOCATIONS_INLINED_MAX;) {
		if (locations_cut_mark(names[i], "_[i]", inlined, sizeof(inlined)))
			names[i][strlen(inlined)] = 0;
		name.inlined[name.n_inlined++] = names[i];
	}
	r = locations_make_synthetic_frame(&folded->replay->locations, &comm->process, kind, &name,
					   0, ret);
	ret->flags |= flags;
	return r;
}

static bool is_inlined(const char *name)
{
	size_t size = strlen(name);

	return size > 4 && !strcmp(name + size - 4, "_[i]");
}

/* Makes all frames of a line, the innermost first, from the end of `frames` backwards. */
static int make_frames(struct folded *folded, struct comm *comm, size_t first,
		       struct wire_frames *ret)
{
	size_t at = FRAMES_MAX, i = first;
	int r = 0;

	while (i < folded->n_names && r == 0) {
		size_t n = 1;

		while (i + n < folded->n_names && is_inlined(folded->names[i + n]))
			n++;
		r = make_frame(folded, comm, folded->names + i, n, &folded->frames[--at]);
		i += n;
	}
	*ret = (struct wire_frames){ folded->frames + at, FRAMES_MAX - at };
	return r;
}

/* A line that is not a stack, or is beyond the limits, counts as one sample left out. */
static int refuse_line(struct stage *stage, struct folded *folded)
{
	folded->n_refused++;
	stage_miss(stage, "unreadable-line", 1);
	return 0;
}

static int take_line(struct stage *stage, struct folded *folded, char *line)
{
	uint64_t n = cut_count(line);
	struct wire_stack stack = { .weight = n, .n_samples = n, .end = WIRE_stack_end_COMPLETE };
	struct comm *comm;
	size_t first = 1;
	int r;

	if (!n || n > SAMPLES_MAX - folded->n_samples || !split(folded, line))
		return refuse_line(stage, folded);
	r = find_comm(folded, folded->names[0], &comm);
	if (r == -ENOSPC)
		return refuse_line(stage, folded);
	if (r < 0)
		return r;
	sum_add(&folded->n_samples, n);
	stage_sum(stage, &stage->samples_in, n);
	if (folded->n_names > 1 && locations_find_end(folded->names[1], &stack.end))
		first = 2;
	stack.process = comm->process.number;
	stack.tid = comm->process.pid;
	r = make_frames(folded, comm, first, &stack.frames);
	return r < 0 ? r : stage_put(stage, WIRE_RECORD_stack, &stack);
}

/* Takes a line without its newline. */
static int take_text(struct stage *stage, struct folded *folded, const char *text, size_t size)
{
	if (GROWING_LIST_RESIZE(folded->line, size + 1) < 0)
		return -ENOMEM;
	memcpy(folded->line, text, size);
	folded->line[size] = 0;
	return size ? take_line(stage, folded, folded->line) : 0;
}

static void emit_refused(struct stage *stage, uint64_t n)
{
	*counters_get(&stage->counters, "refused", "lines") = n;
	stage_warn(stage,
		   "%" PRIu64 " line%s skipped: not a stack followed by a count, or over a limit",
		   n, n == 1 ? " was" : "s were");
	stage->exit_status = STAGE_EXIT_FAILED;
}

int replay_folded_run(struct stage *stage, struct replay *replay)
{
	_cleanup_free_ struct folded *folded = calloc(1, sizeof(*folded));
	const char *at = replay->file.data, *end = at + replay->file.size;
	int r = folded ? 0 : -ENOMEM;

	if (folded)
		folded->replay = replay;
	while (at < end && r == 0 && !stage_should_stop()) {
		const char *line_end = memchr(at, '\n', end - at);

		line_end = line_end ? line_end : end;
		r = take_text(stage, folded, at, line_end - at);
		at = line_end + 1;
	}
	if (!folded)
		return r;
	if (folded->n_refused)
		emit_refused(stage, folded->n_refused);
	free_comms(folded);
	free(folded->line);
	return r;
}
