/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <unistd.h>

#include "common/base/capabilities.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "perf-source/perf-source.h"

enum {
	RING_DEFAULT_MAX = 32 * 1024 * 1024, /* a second at 999 Hz with 32 KiB of stack */
	RATE_MAX = 20000,		     /* Hz */
	CLOCK_COUNT_MIN = NANOSECONDS_A_SECOND / RATE_MAX,
	CYCLES_COUNT_MIN = 100000,     /* 20,000 to 50,000 samples a second */
	RINGS_MAX = 256 * 1024 * 1024, /* of all CPUs, if so few that each may have more */
	RING_SECONDS_PART = 3,	       /* the largest rings hold at least 1/3 second */
	STACK_OF_SMALL_RINGS = 32768,
	STACK_LIMIT_DEFAULT =
		8 * 1024 * 1024, /* of stacks themselves, on most machines (ulimit -s) */
	SAMPLE_OVERHEAD = 400,	 /* bytes of a sample beside its stack */
};

static int read_setting(const char *path, int otherwise)
{
	_cleanup_file_ FILE *file = fopen(path, "re");
	int value;

	return file && fscanf(file, "%d", &value) == 1 ? value : otherwise;
}

int limits_paranoid(void)
{
	return read_setting("/proc/sys/kernel/perf_event_paranoid", 2);
}

/* Of one CPU. How often tracepoints occur is unknown: assumes as often as the rate. */
static uint64_t bytes_a_second(const struct perf_source_options *options, uint32_t stack_bytes)
{
	uint64_t n_events = options->n_events ? options->n_events : 1;

	return n_events * options->rate * (stack_bytes + SAMPLE_OVERHEAD);
}

/*
 * Only the used part of a stack is emitted, so most samples get no larger with a larger size. But
 * where perf copies stacks, as no program can (programs.c), each reserves that much of the ring.
 */
void limits_choose_stack_size(struct perf_source_options *options)
{
	bool has_rings = limits_paranoid() < 0 || capabilities_have(CAP_IPC_LOCK);

	if (options->stack_limit == STACK_LIMIT_UNSET)
		options->stack_limit = options->stack_size ? 0 : STACK_LIMIT_DEFAULT;
	if (options->stack_size)
		return;
	options->stack_size = PERF_RECORD_STACK_MAX;
	if (!has_rings || options->has_waits ||
	    bytes_a_second(options, options->stack_size) > RING_SECONDS_PART * RING_DEFAULT_MAX)
		options->stack_size = STACK_OF_SMALL_RINGS;
}

/*
 * Room for a second of samples, as a power of two. At 4,999 Hz with 64 KiB of stack, 32 MiB hold
 * only a tenth of that, and on a busy machine it can take as long until all stages get a CPU.
 */
static size_t default_ring_bytes(const struct perf_source_options *options, uint32_t stack_bytes)
{
	size_t wanted = bytes_a_second(options, stack_bytes), size = RING_DEFAULT_MIN;
	size_t most = RINGS_MAX / sysconf(_SC_NPROCESSORS_CONF);

	if (most < RING_DEFAULT_MAX)
		most = RING_DEFAULT_MAX;
	while (size < wanted && size * 2 <= most)
		size *= 2;
	return size;
}

/* The smallest ring that is useful: room for four samples. */
size_t limits_least_ring_bytes(const struct perf_source_options *options)
{
	size_t size = sysconf(_SC_PAGESIZE);

	while (size < 4 * (options->stack_size + SAMPLE_OVERHEAD))
		size *= 2;
	return size;
}

/* The size of -m rounded down to a power of two, or enough for the rate. */
size_t limits_ring_bytes(struct stage *stage, const struct perf_source_options *options,
			 uint32_t stack_bytes)
{
	size_t least = limits_least_ring_bytes(options), size = least;

	if (!options->ring_bytes)
		return default_ring_bytes(options, stack_bytes);
	if (options->ring_bytes < least)
		stage_warn(stage, "-m %zu is too small for stacks of %" PRIu32 " bytes: using %zu",
			   options->ring_bytes, options->stack_size, least);
	while (size * 2 <= options->ring_bytes)
		size *= 2;
	return size;
}

/*
 * A sample with its stack takes 10 to 16 us of the program's own time, and the kernel slows down no
 * timer: at 50,000 Hz a program takes 20 times as long, at 100,000 Hz it stands still.
 */
void limits_lower_rate(struct stage *stage, struct perf_source_options *options)
{
	int setting = read_setting("/proc/sys/kernel/perf_event_max_sample_rate", RATE_MAX);
	uint64_t most = setting < RATE_MAX ? setting : RATE_MAX;

	if (options->rate <= most)
		return;
	stage_warn(stage, "%" PRIu64 " Hz %s: using %" PRIu64, options->rate,
		   most < RATE_MAX ? "exceeds kernel.perf_event_max_sample_rate"
				   : "would leave programs little CPU time",
		   most);
	options->rate = most;
}

/* Of events that occur all the time. The kernel throttles the others, if they occur too often. */
static uint64_t least_count(const struct sampled_event *event)
{
	if (sampled_event_is_clock(event))
		return CLOCK_COUNT_MIN;
	if (event->type != PERF_TYPE_HARDWARE)
		return 1;
	switch (event->config) {
	case PERF_COUNT_HW_CPU_CYCLES:
	case PERF_COUNT_HW_REF_CPU_CYCLES:
	case PERF_COUNT_HW_BUS_CYCLES:
	case PERF_COUNT_HW_INSTRUCTIONS:
		return CYCLES_COUNT_MIN;
	default:
		return 1;
	}
}

void limits_raise_count(struct stage *stage, struct sampled_event *event)
{
	uint64_t least = least_count(event);

	if (!event->count || event->count >= least)
		return;
	stage_warn(stage,
		   "a sample each %" PRIu64 " of %s would leave programs little CPU time: using "
		   "%" PRIu64,
		   event->count, event->name, least);
	event->count = least;
}

uint64_t limits_ring_milliseconds(const struct perf_source_options *options, size_t ring_bytes)
{
	return ring_bytes * 1000 / bytes_a_second(options, options->stack_size);
}
