/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "common/source/perf-record.h"
#include "perf-source/perf/event.h"

/* PERF_FORMAT_LOST of linux/perf_event.h 6.0, for older headers. */
#define FORMAT_LOST (1U << 4)

/* What all events have in common. */
static struct perf_event_attr common_attr(const struct event_setup *setup)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.disabled = 1,
		.inherit = setup->inherit,
		.enable_on_exec = setup->enable_on_exec,
		.exclude_hv = 1,
		.exclude_kernel = setup->no_kernel,
		.exclude_guest = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, /* comparable with the times of other sources */
		.watermark = 1,
	};
}

/* Everything except which event is sampled, and how often. */
static struct perf_event_attr sample_attr(const struct event_setup *setup)
{
	struct perf_event_attr attr = common_attr(setup);

	attr.sample_type = PERF_RECORD_SAMPLE_TYPE;
	attr.sample_regs_user = arch_host()->register_mask;
	attr.sample_stack_user = setup->stack_size;
	attr.exclude_callchain_user = 1; /* it follows frame pointers, which are unproved */
	attr.exclude_callchain_kernel = setup->no_kernel;
	attr.exclude_idle = 1;
	attr.wakeup_watermark = setup->sample_wakeup;
	if (!setup->no_lost_format)
		attr.read_format = FORMAT_LOST;
	return attr;
}

static struct perf_event_attr sampled_attr(const struct event_setup *setup, uint32_t number)
{
	const struct sampled_event *event = &setup->events[number];
	struct perf_event_attr attr = sample_attr(setup);

	attr.sample_type = event_sample_type(setup);
	attr.type = event->type;
	attr.config = event->config;
	if (setup->has_sample_parts)
		attr.sample_stack_user = 0;
	attr.freq = !event->count;
	if (event->count)
		attr.sample_period = event->count;
	else
		attr.sample_freq = setup->rate;
	return attr;
}

/* A sample of each occurrence, with PERF_SAMPLE_RAW data. */
static struct perf_event_attr waits_attr(const struct event_setup *setup, uint32_t type,
					 uint64_t config)
{
	struct perf_event_attr attr = sample_attr(setup);

	attr.sample_type = PERF_RECORD_SAMPLE_RAW_TYPE;
	attr.type = type;
	attr.config = config;
	attr.sample_period = 1;
	return attr;
}

/* An event that never occurs: its ring holds only the side-band records that it enables. */
static struct perf_event_attr dummy_attr(const struct event_setup *setup, uint32_t wakeup)
{
	struct perf_event_attr attr = common_attr(setup);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_period = 1;
	attr.sample_type = PERF_RECORD_SIDEBAND_TYPE;
	attr.exclude_kernel = 1;
	attr.wakeup_watermark = wakeup;
	return attr;
}

static struct perf_event_attr switches_attr(const struct event_setup *setup)
{
	struct perf_event_attr attr = dummy_attr(setup, setup->switch_wakeup);

	attr.context_switch = 1;
	if (!setup->no_lost_format)
		attr.read_format = FORMAT_LOST;
	return attr;
}

/* PERF_SAMPLE_RAW data that a BPF program of ours emits. */
static struct perf_event_attr emitted_attr(const struct event_setup *setup, uint32_t wakeup)
{
	struct perf_event_attr attr = common_attr(setup);

	attr.inherit = 0;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.sample_period = 1;
	attr.sample_type = PERF_RECORD_RAW_TYPE;
	attr.wakeup_watermark = wakeup;
	if (!setup->no_lost_format)
		attr.read_format = FORMAT_LOST;
	return attr;
}

static struct perf_event_attr sideband_attr(const struct event_setup *setup)
{
	struct perf_event_attr attr = dummy_attr(setup, setup->sideband_wakeup);

	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	return attr;
}

/*
 * Covers all tasks: kernel code may be loaded or removed by one that is not recorded. It is enabled
 * at once, because it must report before kallsyms is read.
 */
static struct perf_event_attr kernel_code_attr(const struct event_setup *setup)
{
	struct perf_event_attr attr = dummy_attr(setup, setup->sideband_wakeup);

	attr.disabled = 0;
	attr.inherit = 0;
	attr.enable_on_exec = 0;
	attr.ksymbol = 1;
	return attr;
}

static int open_event(struct perf_event_attr attr, pid_t pid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Drops a part of the request after a refusal, the newest first; false: no part is left to drop.
 * For any unknown bit the kernel returns EINVAL, which does not identify the bit.
 */
static bool ask_for_less(struct event_setup *setup, int error)
{
	bool *part = NULL;

	if ((error == -EINVAL || error == -E2BIG) && !setup->no_lost_format)
		part = &setup->no_lost_format;
	else if ((error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV) &&
		 setup->is_anybodys && !setup->no_first)
		part = &setup->no_first;
	else if ((error == -EACCES || error == -EPERM) && !setup->no_kernel)
		part = &setup->no_kernel;
	if (part)
		*part = true;
	if (part == &setup->no_first)
		sampled_event_replace(&setup->events[0], "cpu-clock");
	return part;
}

/* These two take `fd` over and return it, or close it and return -errno. */
static int set_program(int fd, int program_fd)
{
	_cleanup_fd_ int owned = fd;

	if (fd >= 0 && program_fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0)
		return -errno;
	take_fd(&owned);
	return fd;
}

static int set_filter(int fd, const struct sampled_event *event)
{
	_cleanup_fd_ int owned = fd;

	if (!event->filter || !sampled_event_is_tracepoint(event))
		return set_program(take_fd(&owned), event->filter_program_fd);
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, event->filter) < 0)
		return errno == EINVAL ? -EBADMSG : -errno;
	return take_fd(&owned);
}

int event_open_sample(struct event_setup *setup, uint32_t number, pid_t pid, int cpu)
{
	struct event_setup before = *setup;
	int fd, error = 0;

	for (;;) {
		fd = open_event(sampled_attr(setup, number), pid, cpu);
		if (fd >= 0)
			return set_filter(fd, &setup->events[number]);
		if (!error)
			error = fd;
		if (!ask_for_less(setup, fd))
			break;
	}
	/* Returns the first error, unless the event does not exist, whatever the privileges. */
	if (fd == -ENOENT || fd == -EOPNOTSUPP)
		error = fd;
	if (error != -ENOENT && error != -EOPNOTSUPP)
		*setup = before;
	return fd == -ESRCH ? fd : error;
}

int event_open_sideband(struct event_setup *setup, pid_t pid, int cpu)
{
	return open_event(sideband_attr(setup), pid, cpu);
}

int event_open_switches(const struct event_setup *setup, pid_t pid, int cpu)
{
	if (setup->no_kernel)
		return -EACCES;
	return open_event(setup->has_switch_program ? emitted_attr(setup, setup->switch_wakeup)
						    : switches_attr(setup),
			  pid, cpu);
}

int event_open_sample_parts(const struct event_setup *setup, pid_t pid, int cpu)
{
	struct perf_event_attr attr = emitted_attr(setup, setup->sample_wakeup);

	attr.disabled = 0;
	attr.enable_on_exec = 0;
	return open_event(attr, pid, cpu);
}

/* The kernel samples a thread as it is switched out: the stack is that of its wait. */
int event_open_waits(const struct event_setup *setup, pid_t pid, int cpu)
{
	uint64_t config = setup->has_switch_program ? PERF_COUNT_SW_BPF_OUTPUT
						    : PERF_COUNT_SW_CONTEXT_SWITCHES;

	if (setup->no_kernel)
		return -EACCES;
	return set_program(open_event(waits_attr(setup, PERF_TYPE_SOFTWARE, config), pid, cpu),
			   setup->waits_program_fd);
}

int event_open_all_switches(const struct event_setup *setup, pid_t pid, int cpu)
{
	return open_event(switches_attr(setup), pid, cpu);
}

int event_open_wakings(const struct event_setup *setup, pid_t pid, int cpu)
{
	struct perf_event_attr attr =
		waits_attr(setup, PERF_TYPE_TRACEPOINT, setup->waking_tracepoint);

	attr.inherit = pid >= 0 && setup->inherit;
	return open_event(attr, pid, cpu);
}

int event_open_kernel_code(const struct event_setup *setup, pid_t pid, int cpu)
{
	return open_event(kernel_code_attr(setup), pid, cpu);
}

bool event_kernel_reports_lost(void)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.read_format = FORMAT_LOST,
		.exclude_kernel = 1,
	};
	int fd = open_event(attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int event_read_id(int fd, uint64_t *ret)
{
	return ioctl(fd, PERF_EVENT_IOC_ID, ret) < 0 ? -errno : 0;
}

/* The value comes first in every read_format in use. */
uint64_t event_read_value(int fd)
{
	uint64_t values[2];

	return read(fd, values, sizeof(values)) >= (ssize_t)sizeof(*values) ? values[0] : 0;
}

uint64_t event_read_lost(const struct event_setup *setup, int fd)
{
	struct {
		uint64_t value, lost;
	} values;

	if (setup->no_lost_format || read(fd, &values, sizeof(values)) != sizeof(values))
		return 0;
	return values.lost;
}
