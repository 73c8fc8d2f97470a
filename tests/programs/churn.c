/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many processes with known stacks: each is named after the only function that it spins in. Each of
 * 64 functions, spin_00 to spin_77, has a caller of its own, call_00 to call_77.
 *
 *	churn fork N SECONDS			N short processes, evenly over SECONDS; fork only
 *	churn exec N SECONDS PROGRAM...		forked, each executing the next PROGRAM
 *	churn reuse N SECONDS PROGRAM...	likewise, with few PIDs used again and again (root)
 *	churn live N SECONDS WAKEUPS PROGRAM...	N at a time: each spins, and waits to spin again;
 *						so many wake up per second
 *
 * PROGRAM is this program or a copy: in copy k, from 0, each function has the symbol of the k-th
 * function after it. All copies must have the same addresses (no PIE), so that a stack looked up in
 * another process's mappings shows a wrong name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAIN_LINK __attribute__((noinline, noclone))
#define NANOSECONDS_A_SECOND 1000000000ULL

enum {
	SPIN_NS = 3000000,
	LIVING_MAX = 512, /* short processes, if the machine is too slow */
	REUSED_PIDS = 1000,
};

static volatile unsigned long sink;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * NANOSECONDS_A_SECOND + time.tv_nsec;
}

/* The statement after the call prevents a tail call. */
#define FUNCTIONS(n)                                                                               \
	static CHAIN_LINK void spin_##n(void)                                                      \
	{                                                                                          \
		uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + SPIN_NS;                             \
                                                                                                   \
		while (now(CLOCK_THREAD_CPUTIME_ID) < end)                                         \
			for (unsigned long i = 0; i < 50000; i++)                                  \
				sink = i + 0##n;                                                   \
	}                                                                                          \
                                                                                                   \
	static CHAIN_LINK void call_##n(void)                                                      \
	{                                                                                          \
		spin_##n();                                                                        \
		sink++;                                                                            \
	}
#define CALL(n) call_##n,
#define EIGHT(each, t)                                                                             \
	each(t##0) each(t##1) each(t##2) each(t##3) each(t##4) each(t##5) each(t##6) each(t##7)
#define ALL(each)                                                                                  \
	EIGHT(each, 0)                                                                             \
	EIGHT(each, 1)                                                                             \
	EIGHT(each, 2) EIGHT(each, 3) EIGHT(each, 4) EIGHT(each, 5) EIGHT(each, 6) EIGHT(each, 7)

ALL(FUNCTIONS)
static void (*const calls[])(void) = { ALL(CALL) };
enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* The function to spin in, and the number in the process's name. */
struct part {
	unsigned function, name;
};

/* Spins, signals that by closing its output, and spins again for each byte of input. */
static CHAIN_LINK void spin(struct part part)
{
	char name[16], byte;

	snprintf(name, sizeof(name), "spin_%02o", part.name);
	prctl(PR_SET_NAME, name);
	calls[part.function]();
	close(STDOUT_FILENO);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		calls[part.function]();
	_exit(0);
}

struct load {
	unsigned long n;
	double seconds;
	char **programs; /* NULL-terminated; empty: fork only */
	size_t n_programs;
	int input_fd, output_fd; /* of the children */
};

static void execute(const char *program, struct part part)
{
	char function[16], name[16];

	snprintf(function, sizeof(function), "%u", part.function);
	snprintf(name, sizeof(name), "%u", part.name);
	execl(program, program, "spin", function, name, NULL);
	perror(program);
	_exit(127);
}

static CHAIN_LINK void start_child(const struct load *load, unsigned long i)
{
	struct part part = { i % N_CALLS, i % N_CALLS };
	pid_t pid = fork();

	if (pid < 0) {
		perror("churn: fork");
		exit(1);
	}
	if (pid > 0)
		return;
	dup2(load->input_fd, STDIN_FILENO);
	dup2(load->output_fd, STDOUT_FILENO);
	if (load->n_programs) {
		size_t copy = (i + i / N_CALLS) % load->n_programs; /* each in each */

		part.name = (part.function + copy) % N_CALLS;
		execute(load->programs[copy], part);
	}
	spin(part);
}

static void sleep_until(uint64_t time)
{
	struct timespec until = { time / NANOSECONDS_A_SECOND, time % NANOSECONDS_A_SECOND };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* The kernel assigns the PID after this one next. */
static void set_last_pid(pid_t pid)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!file || fprintf(file, "%d", pid) < 0 || fclose(file) != 0) {
		perror("churn: ns_last_pid");
		exit(1);
	}
}

static void run_short(struct load *load, int reuses_pids)
{
	uint64_t begun = now(CLOCK_MONOTONIC), interval = load->seconds * 1e9 / load->n;
	unsigned long n_living = 0;

	load->input_fd = load->output_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (unsigned long i = 0; i < load->n; i++) {
		sleep_until(begun + i * interval);
		while (n_living && waitpid(-1, NULL, n_living < LIVING_MAX ? WNOHANG : 0) > 0)
			n_living--;
		if (reuses_pids && i % REUSED_PIDS == 0)
			set_last_pid(getpid());
		start_child(load, i);
		n_living++;
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("processes=%lu seconds=%.1f\n", load->n, (now(CLOCK_MONOTONIC) - begun) / 1e9);
}

/* Starts all children, and waits until each has spun once. */
static void start_live(struct load *load)
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		exit(1);
	load->output_fd = ready[1];
	for (unsigned long i = 0; i < load->n; i++)
		start_child(load, i);
	close(ready[1]);
	while (read(ready[0], &byte, 1) == 1)
		;
	printf("processes=%lu\n", load->n);
	fflush(stdout);
}

/* All wait at one pipe, where the kernel wakes the longest waiter, and end when it is closed. */
static void run_live(struct load *load, double wakeups_a_second)
{
	uint64_t begun, n = load->seconds * wakeups_a_second;
	int wakeups[2];

	if (pipe2(wakeups, O_CLOEXEC) < 0)
		exit(1);
	load->input_fd = wakeups[0];
	start_live(load);
	begun = now(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < n; i++) {
		sleep_until(begun + i * NANOSECONDS_A_SECOND / wakeups_a_second);
		if (write(wakeups[1], "", 1) != 1)
			exit(1);
	}
	sleep_until(begun + load->seconds * NANOSECONDS_A_SECOND);
	close(wakeups[1]);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static int run(int argc, char **argv)
{
	int is_live = !strcmp(argv[1], "live"), i = is_live ? 5 : 4;
	struct load load = {
		.n = strtoul(argv[2], NULL, 10),
		.seconds = strtod(argv[3], NULL),
		.programs = argv + i,
		.n_programs = argc > i ? argc - i : 0,
	};

	if (!load.n || load.seconds <= 0 || (strcmp(argv[1], "fork") != 0) != (load.n_programs > 0))
		return 2;
	if (is_live)
		run_live(&load, strtod(argv[4], NULL));
	else
		run_short(&load, !strcmp(argv[1], "reuse"));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "spin"))
		spin((struct part){ atoi(argv[2]) % N_CALLS, atoi(argv[3]) % N_CALLS });
	return argc >= 4 ? run(argc, argv) : 2;
}
