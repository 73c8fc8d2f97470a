/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc shows of processes (proc(5)). A target can shape all of this text: a line that does
 * not parse is skipped as a whole.
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
	const char *path; /* empty for anonymous memory; points into the parsed line */
	bool is_writable; /* this and the next: only valid from proc_read_all_maps() */
	bool is_executable;
};

/* Parses a line in place. Returns false if it is not the line of an executable mapping. */
bool proc_parse_mapping(char *line, struct proc_mapping *ret);

/* The executable mappings of a process, or all. */
struct proc_maps {
	char *text; /* holds the paths of `list` */
	size_t text_size;
	struct proc_mapping *list;
	size_t n;
	size_t n_refused; /* beyond PROC_MAPPINGS_MAX or the limit of `text` */
	uint32_t task;	  /* the thread whose maps were read */
};

/*
 * Reads executable mappings. 0 or -errno (-ENOENT, -ESRCH: there is no such process). A main thread
 * that has exited shows none; then those of another thread are read.
 */
int proc_read_maps(uint32_t pid, struct proc_maps *ret);
/* The same from an open /proc/PID/maps, any number of times. Empty after exit or an exec. */
int proc_read_open_maps(int fd, struct proc_maps *ret);
/* The same from text, as before Linux 6.11; `fd` is like /proc/PID/maps, and `maps` is zeroed. */
int proc_read_maps_text(int fd, struct proc_maps *maps);
/* Reads all mappings of a task, whatever their permissions. 0 or -errno. */
int proc_read_all_maps(uint32_t tid, struct proc_maps *ret);
void proc_maps_deinit(struct proc_maps *maps);

/* Read the name of the main thread, or of any thread; empty if it cannot be read. */
void proc_read_name(uint32_t pid, char ret[PROC_NAME_MAX]);
void proc_read_thread_name(uint32_t pid, uint32_t tid, char ret[PROC_NAME_MAX]);

/* The process of a thread; 0: there is no such thread. */
uint32_t proc_find_process(uint32_t tid);

/*
 * Whether two processes share their memory (kcmp(2), KCMP_VM), as after vfork(2) until exec or
 * after clone(2) with CLONE_VM: 1 or 0; -errno: not permitted, or a process has exited.
 */
int proc_share_memory(uint32_t pid, uint32_t other);

/* Whether /proc belongs to our own PID namespace; otherwise its PIDs are other processes'. */
bool proc_is_ours(void);

/* Whether a process certainly no longer exists (kill(2) with signal 0). */
bool proc_is_gone(uint32_t pid);

/* The parent of a process; 0: none, or no such process. */
uint32_t proc_find_parent(uint32_t pid);

/* The PID of a process in its innermost PID namespace; 0: unknown. */
uint32_t proc_find_own_pid(uint32_t pid);

/*
 * Parses a process's start time in its /proc/PID/stat: nanoseconds of CLOCK_BOOTTIME, rounded down
 * to a clock tick. Returns false if there is none.
 */
bool proc_parse_start(const char *stat, uint64_t *ret);
/* The same in CLOCK_MONOTONIC, or earlier if the machine was suspended since; 0: unknown. */
uint64_t proc_find_start(uint32_t pid);

/* Whether a thread is running or runnable (proc(5), state R); false: also if it does not exist. */
bool proc_thread_runs(uint32_t pid, uint32_t tid);

/* Calls `each` for every thread until it returns < 0; returns that, their number, or -errno. */
int proc_each_thread(uint32_t pid, int (*each)(uint32_t tid, void *arg), void *arg);

/* The same for every process. */
int proc_each_process(int (*each)(uint32_t pid, void *arg), void *arg);
