/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: events of the processes of test-events.h, and the resulting state. */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/source/test-events.h"

static inline void do_exit(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct perf_record_task task = {
		.header = { PERF_RECORD_EXIT, 0, sizeof(task) + sizeof(struct perf_record_id) },
		.pid = pid,
		.parent_pid = 1,
		.tid = tid,
		.parent_tid = 1,
		.time = time,
	};

	assert_int_equal(processes_exit(&processes, &task, time), 0);
}

static inline uint64_t sample(uint32_t pid, uint64_t address, uint64_t time)
{
	uint64_t upid = 0;

	assert_int_equal(processes_of_sample(&processes, pid, address, time, &upid), 0);
	return upid;
}

static inline void check(const char *expected)
{
	assert_string_equal(test_stream_text(&stream), expected);
}

/* The mapping of an address of this process in the records written; 0: none. */
static inline uint32_t find_mapping(uint64_t upid, uint64_t address, int *ret_n)
{
	union wire_view view;
	uint32_t found = 0;
	uint16_t type;

	*ret_n = 0;
	while ((type = test_stream_next(&stream, &view))) {
		if (type != WIRE_RECORD_mapping || view.mapping.process != upid ||
		    address < view.mapping.start ||
		    address - view.mapping.start >= view.mapping.length)
			continue;
		found = view.mapping.mapping;
		++*ret_n;
	}
	return found;
}

static inline uint64_t our_code(void)
{
	return (uintptr_t)our_code;
}

/* A process known from its events whose later mapping events were lost. */
static inline void begin_with_one_mapping(uint32_t pid)
{
	struct proc_mapping_event {
		uint64_t start, end, offset;
		char path[256];
		uint64_t inode;
	} first = { 0 };
	char text[512];
	FILE *maps;

	snprintf(text, sizeof(text), "/proc/%u/maps", pid);
	maps = fopen(text, "re");
	assert_non_null(maps);
	while (fgets(text, sizeof(text), maps))
		if (sscanf(text, "%lx-%lx %*2cx%*c %lx %*s %lu %255s", &first.start, &first.end,
			   &first.offset, &first.inode, first.path) == 5)
			break;
	fclose(maps);
	assert_true(first.inode > 0);
	do_fork(1, pid, 10);
	do_mmap(pid, first.start, first.end - first.start, first.offset, first.path, first.inode,
		11);
	test_stream_text(&stream);
}

/* A child that exits at once and stays a zombie, or waits to be killed. */
static inline pid_t start_child(bool ends)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the test fails before kill(2) */
		while (!ends)
			pause();
		_exit(0);
	}
	assert_true(pid > 0);
	if (ends)
		assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

static inline void sweep(uint64_t time)
{
	assert_int_equal(processes_sweep(&processes, time), 0);
	test_stream_text(&stream);
}
