/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests: a process table fed with hand-made kernel events; its records are read back as text.
 * PIDs from PID on never exist in /proc.
 */
#pragma once

#include <limits.h>
#include <sys/mman.h>

#include "common/source/processes.h"
#include "common/stage/test-stream.h"

enum { PID = 5000000 }; /* PID_MAX_LIMIT is 4194304 */

static struct test_stream stream;
static struct images images;
static struct processes processes;

static inline int set_up_processes(void **state)
{
	test_stream_init(&stream);
	images_init(&images, &stream.stage, -1);
	processes_init(&processes, &stream.stage, &images);
	return 0;
}

static inline int tear_down_processes(void **state)
{
	processes_deinit(&processes);
	images_deinit(&images);
	test_stream_deinit(&stream);
	return 0;
}

static inline void clone_of(uint32_t parent, uint32_t pid, uint32_t tid, uint64_t time)
{
	struct perf_record_task task = {
		.header = { PERF_RECORD_FORK, 0, sizeof(task) + sizeof(struct perf_record_id) },
		.pid = pid,
		.parent_pid = parent,
		.tid = tid,
		.parent_tid = parent,
		.time = time,
	};

	assert_int_equal(processes_fork(&processes, &task, time), 0);
}

static inline void do_fork(uint32_t parent, uint32_t pid, uint64_t time)
{
	clone_of(parent, pid, pid, time);
}

static inline const struct perf_record_comm *make_comm(uint32_t pid, uint32_t tid, const char *name,
						       uint16_t misc)
{
	static _Alignas(8) char record[128];
	struct perf_record_comm *comm = (void *)record;
	size_t size = (strlen(name) + 8) & ~7UL;

	memset(record, 0, sizeof(record));
	comm->header =
		(struct perf_event_header){ PERF_RECORD_COMM, misc,
					    sizeof(*comm) + size + sizeof(struct perf_record_id) };
	comm->pid = pid;
	comm->tid = tid;
	strcpy(comm->name, name);
	return comm;
}

static inline void do_comm(uint32_t pid, uint32_t tid, const char *name, uint16_t misc,
			   uint64_t time)
{
	assert_int_equal(processes_comm(&processes, make_comm(pid, tid, name, misc), time), 0);
}

static inline void do_exec(uint32_t pid, const char *name, uint64_t time)
{
	do_comm(pid, pid, name, PERF_RECORD_MISC_COMM_EXEC, time);
}

static inline struct perf_record_mmap2 *make_mmap(uint32_t pid, uint64_t start, uint64_t length,
						  const char *path, uint64_t inode)
{
	static _Alignas(8) char record[sizeof(struct perf_record_mmap2) + PATH_MAX + 64];
	struct perf_record_mmap2 *mmap2 = (void *)record;
	size_t size = (strlen(path) + 8) & ~7UL;

	memset(record, 0, sizeof(record));
	mmap2->header =
		(struct perf_event_header){ PERF_RECORD_MMAP2, 0,
					    sizeof(*mmap2) + size + sizeof(struct perf_record_id) };
	mmap2->pid = mmap2->tid = pid;
	mmap2->start = start;
	mmap2->length = length;
	mmap2->major = 8;
	mmap2->minor = 1;
	mmap2->inode = inode;
	mmap2->generation = inode ? 7 : 0;
	mmap2->protection = PROT_READ | PROT_EXEC;
	strcpy(mmap2->path, path);
	return mmap2;
}

static inline void do_mmap(uint32_t pid, uint64_t start, uint64_t length, uint64_t offset,
			   const char *path, uint64_t inode, uint64_t time)
{
	struct perf_record_mmap2 *mmap2 = make_mmap(pid, start, length, path, inode);

	mmap2->offset = offset;
	assert_int_equal(processes_mmap(&processes, mmap2, time), 0);
}

/* Whether any written line begins like this. */
static inline bool has_line(const char *beginning)
{
	for (const char *line = stream.text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, beginning, strlen(beginning)))
			return true;
	}
	return false;
}
