/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-confined WHEN ACTION BY WAY: a program that confines itself to the system calls that it
 * needs, and exits with 5 whatever happens to others. WHEN: start (before it allocates anything),
 * middle. ACTION: kill, thread, trap, errno, strict, tsc (the last two need no BY): strict mode
 * disables the CPU's time-stamp counter along with the calls, tsc the counter alone. BY: prctl,
 * seccomp, tsync. WAY, what it does then: flood, stacks, threads, fork, exec. Prints how often it
 * allocated SIZE bytes, and how many calls were caught.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stack-switch.h"

enum {
	SIZE = 7001,
	MANY = 20000,
	FEW = 100,
	PAGE = 4096,
	STATUS = 5,
	CALLS_MAX = 48,
	PATIENCE_S = 10
};

static volatile int n_allocated, n_caught;

static void allocate_many(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile block = malloc(SIZE);

		free(block);
	}
	__atomic_fetch_add(&n_allocated, n, __ATOMIC_RELAXED);
}

static void on_violation(int signal)
{
	n_caught++;
}

/* System calls of the allocator, and of every program here. */
static const int plain[] = {
	SYS_read,	SYS_write,	  SYS_brk,	 SYS_mmap,  SYS_munmap,
	SYS_mremap,	SYS_madvise,	  SYS_mprotect,	 SYS_futex, SYS_exit,
	SYS_exit_group, SYS_rt_sigreturn, SYS_getrandom,
};

/* For pthread_create(3), for fork(2) and waitpid(2), for execve(2) and the loader. */
static const int for_threads[] = {
	SYS_clone,	     SYS_clone3,       SYS_rt_sigprocmask,   SYS_rseq,
	SYS_set_robust_list, SYS_rt_sigaction, SYS_sched_getaffinity
};
static const int for_fork[] = { SYS_clone, SYS_set_robust_list, SYS_wait4, SYS_rt_sigprocmask };
static const int for_exec[] = { SYS_execve,	     SYS_openat,     SYS_close,
				SYS_newfstatat,	     SYS_fstat,	     SYS_pread64,
				SYS_access,	     SYS_arch_prctl, SYS_set_tid_address,
				SYS_set_robust_list, SYS_rseq,	     SYS_prlimit64 };

static struct sock_filter filter[2 * CALLS_MAX];
static unsigned short n_filter;

static void add(uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t k)
{
	filter[n_filter++] = (struct sock_filter){ code, if_true, if_false, k };
}

static void allow(const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, calls[i]);
		add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	}
}
#define ALLOW(calls) allow(calls, sizeof(calls) / sizeof(*calls))

static uint32_t find_action(const char *name)
{
	return !strcmp(name, "kill")	 ? SECCOMP_RET_KILL_PROCESS
	       : !strcmp(name, "thread") ? SECCOMP_RET_KILL_THREAD
	       : !strcmp(name, "trap")	 ? SECCOMP_RET_TRAP
					 : SECCOMP_RET_ERRNO | EPERM;
}

static bool confine(const char *action, const char *by, const char *way)
{
	const struct sock_fprog program = { 0, filter };
	struct sock_fprog all = program;

	if (!strcmp(action, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
	if (!strcmp(action, "tsc"))
		return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
	add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	ALLOW(plain);
	if (!strcmp(way, "threads"))
		ALLOW(for_threads);
	if (!strcmp(way, "fork"))
		ALLOW(for_fork);
	if (!strcmp(way, "exec"))
		ALLOW(for_exec);
	add(BPF_RET | BPF_K, 0, 0, find_action(action));
	all.len = n_filter;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return false;
	if (!strcmp(by, "prctl"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       !strcmp(by, "tsync") ? SECCOMP_FILTER_FLAG_TSYNC : 0, &all) == 0;
}

static void *above, *below;

static void begin(void)
{
	allocate_many(FEW);
	switch_stack(&below, above);
}

/* Runs on stacks without a caller that end where the memory ends. */
static void stacks(void)
{
	for (int i = 0; i < 10; i++) {
		char *memory = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || munmap(memory + 4 * PAGE, 12 * PAGE) < 0)
			_exit(9);
		switch_stack(&above, new_stack(memory + 4 * PAGE, begin));
		munmap(memory, 4 * PAGE);
	}
}

static void *run_thread(void *arg)
{
	allocate_many(FEW);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++) {
		if (pthread_create(&thread, NULL, run_thread, NULL))
			_exit(9);
		pthread_join(thread, NULL);
	}
}

/* A thread started before the filter; continues each time the gate has a byte. */
static int ready[2], gate[2];
static bool has_early;

static void *run_early(void *arg)
{
	char byte;

	for (;;) {
		allocate_many(FEW);
		if (write(ready[1], "", 1) < 0 || read(gate[0], &byte, 1) < 0)
			_exit(9);
	}
}

static bool wait_for_early(void)
{
	char byte;

	return read(ready[0], &byte, 1) == 1;
}

/* The child's allocations are not counted; whether they are recorded is not tested. */
static void fork_and_wait(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		allocate_many(FEW);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0)
		_exit(9);
}

static void say(void)
{
	char text[64];
	int size =
		snprintf(text, sizeof(text), "%d allocations, %d caught\n", n_allocated, n_caught);

	if (write(1, text, size) != size)
		_exit(9);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_violation };
	const char *way = argc > 4 ? argv[4] : "";

	if (argc == 2) /* executed by itself, under the earlier filter */
		goto confined;
	if (argc != 5)
		return 8;
	alarm(PATIENCE_S); /* in case a thread is killed that another one waits for */
	sigaction(SIGSYS, &action, NULL);
	if (!strcmp(argv[3], "tsync")) {
		pthread_t early;

		if (pipe(ready) < 0 || pipe(gate) < 0 ||
		    pthread_create(&early, NULL, run_early, NULL) || !wait_for_early())
			return 9;
		has_early = true;
	}
	if (!strcmp(argv[1], "middle"))
		allocate_many(MANY);
	if (!confine(argv[2], argv[3], way))
		return 9;
	if (!strcmp(way, "exec")) {
		char *arguments[] = { argv[0], "again", NULL };

		execv(argv[0], arguments);
		return 9;
	}
	if (!strcmp(way, "stacks"))
		stacks();
	else if (!strcmp(way, "threads"))
		threads();
	else if (!strcmp(way, "fork"))
		fork_and_wait();
confined:
	allocate_many(MANY);
	if (has_early && (write(gate[1], "", 1) < 0 || !wait_for_early()))
		return 9;
	say();
	if (has_early)
		_exit(STATUS);
	syscall(SYS_exit, STATUS); /* the only exit that strict mode allows */
}
