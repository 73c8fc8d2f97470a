/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Periodically ends processes whose exit was missed, and images that no process has mapped any
 * more. Images linger for a while, because the next short-lived process mostly maps the same ones.
 */
#include "common/source/processes-internal.h"

/* The arguments of use_image(). */
struct use {
	struct images *images;
	uint64_t time;
};

static bool use_image(const struct mapping *mapping, void *arg)
{
	const struct use *use = arg;

	images_use(use->images, mapping->image, use->time);
	return false;
}

/* Forks share mappings, which are examined once: there may be thousands of forks. */
static void use_images(struct processes *processes, const struct tracked_process *process,
		       uint64_t time)
{
	struct use use = { processes->images, time };

	mapping_table_any(&process->space->mappings, processes->n_questions, use_image, &use);
	images_use(processes->images, process->space->anonymous,
		   time); /* it may map such memory again */
	for (size_t i = 0; process->replaced && i < process->replaced->n; i++)
		images_use(processes->images, process->replaced->list[i].file.image, time);
}

int processes_sweep(struct processes *processes, uint64_t time)
{
	struct tracked_process *process, *next;
	int r = 0;

	if (time - processes->swept_at < PROCESSES_SWEEP_NS)
		return 0;
	processes->swept_at = time;
	processes->n_questions++;
	HASH_ITER(hh, processes->by_pid, process, next)
	{
		if (!process->has_exited && processes->proc.is_gone(process->pid) &&
		    !processes_is_changing(processes, process->pid)) {
			++*counters_get(&processes->stage->counters, "processes", "missed-exits");
			r = processes_end(processes, process, time);
		} else {
			use_images(processes, process, time);
		}
		if (r < 0)
			return r;
	}
	if (time < PROCESSES_IMAGES_LINGER_NS)
		return 0;
	return images_end_unused(processes->images, time - PROCESSES_IMAGES_LINGER_NS, time);
}
