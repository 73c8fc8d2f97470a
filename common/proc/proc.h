/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc says of processes (proc(5)). All of it is text that a target can shape: a line that
 * does not parse is passed over, never believed in part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROC_PATH_MAX = 4096,
	PROC_NAME_MAX = 64,
	PROC_MAPPINGS_MAX = 65536,
	PROC_STAT_SIZE_MAX = 4096,
};

/* A line of /proc/PID/maps. */
struct proc_mapping {
	uint64_t start, end, offset;
	uint32_t major, minor;
	uint64_t inode;
	const char *path; /* empty for anonymous memory; within the line that was parsed */
	bool is_writable; /* as the next, of proc_read_all_maps() alone */
	bool is_executable;
};

/* Parses one line in place; false: it is no line of an executable mapping. */
bool proc_parse_mapping(char *line, struct proc_mapping *ret);

/* All executable mappings of a process at one moment. */
struct proc_maps {
	char *text; /* what `list` points into */
	size_t text_size;
	struct proc_mapping *list;
	size_t n;
	size_t n_refused; /* beyond PROC_MAPPINGS_MAX */
	uint32_t task;	  /* the thread that showed them */
};

/*
 * 0 or -errno (-ENOENT, -ESRCH: there is no such process). A main thread that has ended shows none;
 * then another thread of the process is asked.
 */
int proc_read_maps(uint32_t pid, struct proc_maps *ret);
/*
 * The same of an open /proc/PID/maps, as often as one likes: nothing, once the process has ended or
 * runs another program.
 */
int proc_read_open_maps(int fd, struct proc_maps *ret);
/* The way of kernels before 6.11: parses a file like /proc/PID/maps. `maps` is all zero before. */
int proc_read_maps_text(int fd, struct proc_maps *maps);
/* All that a task has mapped, whatever the rights. 0 or -errno. */
int proc_read_all_maps(uint32_t tid, struct proc_maps *ret);
void proc_maps_deinit(struct proc_maps *maps);

/* The main thread's name, or any thread's; empty if it cannot be read. */
void proc_read_name(uint32_t pid, char ret[PROC_NAME_MAX]);
void proc_read_thread_name(uint32_t pid, uint32_t tid, char ret[PROC_NAME_MAX]);

/* The process that a thread is of; 0: there is no such thread. */
uint32_t proc_find_process(uint32_t tid);

/*
 * Whether two processes have one memory (kcmp(2), KCMP_VM), as a vforked child until its exec, and
 * what clone(2) makes with CLONE_VM: 1 or 0; -errno: that may not be asked, or one has gone.
 */
int proc_share_memory(uint32_t pid, uint32_t other);

/* Whether /proc belongs to our own PID namespace: elsewhere its PIDs are other processes'. */
bool proc_is_ours(void);

/* Whether there is certainly no such process any more (kill(2): signal 0 asks for that). */
bool proc_is_gone(uint32_t pid);

/* The parent of a process, 0: it has none, or is not there. */
uint32_t proc_find_parent(uint32_t pid);

/* The PID of a process in the innermost of its namespaces; 0: it is not known. */
uint32_t proc_find_own_pid(uint32_t pid);

/*
 * When a process was started, in nanoseconds of CLOCK_BOOTTIME: what its /proc/PID/stat says, which
 * is rounded down to a tick. false: it does not.
 */
bool proc_parse_start(const char *stat, uint64_t *ret);
/* The same of CLOCK_MONOTONIC, or earlier where the machine has slept; 0: it is not known. */
uint64_t proc_find_start(uint32_t pid);

/* Whether a thread runs, or could (proc(5), state R): false also if there is no such thread. */
bool proc_thread_runs(uint32_t pid, uint32_t tid);

/* Calls for each thread; how many there were, or -errno. */
int proc_each_thread(uint32_t pid, int (*each)(uint32_t tid, void *arg), void *arg);

/* Calls for each process, stops when that returns < 0 and returns it. */
int proc_each_process(int (*each)(uint32_t pid, void *arg), void *arg);
