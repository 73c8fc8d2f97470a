/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/proc/proc.h"
#include "perf-source/silent-threads.h"

enum { CALLS_MAX = 8, CALL_SIZE = 32, CALLS_TEXT_SIZE = CALLS_MAX * (CALL_SIZE + 16) };

struct silent_threads {
	struct off_cpu *off_cpu;
	uint32_t pid;
	size_t n_away, n_calls;
	struct {
		char name[CALL_SIZE];
		size_t n;
	} calls[CALLS_MAX]; /* further ones are not named */
};

/* The system call that a thread is in (proc(5), syscall); empty: none, or it is not readable. */
static void read_call(uint32_t pid, uint32_t tid, char ret[static CALL_SIZE])
{
	char path[64];
	_cleanup_file_ FILE *file = NULL;
	_cleanup_free_ char *name = NULL;
	int number;

	*ret = 0;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &number) != 1 || number < 0)
		return;
	name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	snprintf(ret, CALL_SIZE, "%s", name ? name : "");
}

static void count_call(struct silent_threads *silent, const char *name)
{
	size_t i = 0;

	while (i < silent->n_calls && strcmp(silent->calls[i].name, name))
		i++;
	if (!*name || i == CALLS_MAX)
		return;
	if (i == silent->n_calls)
		strcpy(silent->calls[silent->n_calls++].name, name);
	silent->calls[i].n++;
}

static int find(uint32_t tid, void *arg)
{
	struct silent_threads *silent = arg;
	char call[CALL_SIZE];
	bool runs;

	if (off_cpu_find_thread(silent->off_cpu, tid))
		return 0;
	runs = proc_thread_runs(silent->pid, tid);
	off_cpu_add_thread(silent->off_cpu, silent->pid, tid, runs ? THREAD_RUNNING : THREAD_AWAY,
			   silent->off_cpu->begun_at);
	if (runs)
		return 0;
	silent->n_away++;
	read_call(silent->pid, tid, call);
	count_call(silent, call);
	return 0;
}

/* For example ", 2 in futex, 1 in read". */
static const char *calls_text(const struct silent_threads *silent, char ret[static CALLS_TEXT_SIZE])
{
	size_t size = 0;

	*ret = 0;
	for (size_t i = 0; i < silent->n_calls; i++)
		size += snprintf(ret + size, CALLS_TEXT_SIZE - size, ", %zu in %s",
				 silent->calls[i].n, silent->calls[i].name);
	return ret;
}

void silent_threads_find(struct stage *stage, struct off_cpu *off_cpu, const pid_t *pids,
			 size_t n_pids)
{
	struct silent_threads silent = { .off_cpu = off_cpu };
	char calls[CALLS_TEXT_SIZE];

	for (size_t i = 0; i < n_pids; i++) {
		silent.pid = pids[i];
		proc_each_thread(silent.pid, find, &silent); /* fails if it has exited */
	}
	if (silent.n_away)
		stage_warn(
			stage,
			"%zu thread%s waited all the time%s: stacks are known only for waits that "
			"begin during the recording",
			silent.n_away, silent.n_away == 1 ? "" : "s", calls_text(&silent, calls));
}
