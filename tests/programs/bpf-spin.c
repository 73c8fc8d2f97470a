/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins in BPF programs that are loaded and unloaded, so that one gets another's address and tests
 * must tell them apart:
 *
 *	bpf-spin SECONDS N	two threads run N programs each, one after the other, each for
 *				so many seconds of CPU time
 *
 * A thread has the name of its current program: left1, left2 … and right1 …. The first ones, left0
 * and right0, stay loaded and run again at the end. Exit status 77: the kernel does not load or run
 * BPF programs for us; the reason is on stderr.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	STEPS_MAX = 512,   /* in a program's loop; determines its size */
	VERIFIED = 100000, /* instructions per run; the verifier follows all of them */
	RUNS_A_CALL = 50,  /* a few milliseconds */
	PACKET_SIZE = 64,
	EXIT_SKIPPED = 77,
};

static double seconds;
static int n_programs;

static void give_up(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(EXIT_SKIPPED);
}

static int bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static struct bpf_insn instruction(int code, int target, int source, int offset, int value)
{
	return (struct bpf_insn){ code, target, source, offset, value };
}

/* Loads a loop of `n_steps` steps; programs of different size get different addresses. */
static int load(const char *name, int n_steps)
{
	struct bpf_insn code[STEPS_MAX + 8];
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER };
	int n = 0, fd;

	code[n++] = instruction(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
	code[n++] = instruction(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, VERIFIED / n_steps);
	for (int i = 0; i < n_steps; i++)
		code[n++] = instruction(BPF_ALU64 | BPF_MUL | BPF_K, 0, 0, 0, 3 + 2 * i);
	code[n++] = instruction(BPF_ALU64 | BPF_SUB | BPF_K, 1, 0, 0, 1);
	code[n++] = instruction(BPF_JMP | BPF_JNE | BPF_K, 1, 0, -n_steps - 2, 0);
	code[n++] = instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = n;
	attr.license = (uintptr_t) "GPL";
	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	fd = bpf(BPF_PROG_LOAD, &attr);
	if (fd < 0)
		give_up("the kernel loads no BPF program");
	return fd;
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void run(const char *name, int fd)
{
	double end = cpu_seconds() + seconds;

	prctl(PR_SET_NAME, name);
	while (cpu_seconds() < end) {
		static char packet[PACKET_SIZE];
		union bpf_attr attr = { 0 };

		attr.test.prog_fd = fd;
		attr.test.data_in = (uintptr_t)packet;
		attr.test.data_size_in = sizeof(packet);
		attr.test.repeat = RUNS_A_CALL;
		if (bpf(BPF_PROG_TEST_RUN, &attr) < 0)
			give_up("the kernel runs no BPF program");
	}
	prctl(PR_SET_NAME, "between");
}

static void *spin(void *side)
{
	char first_name[16], name[16];
	int first;

	prctl(PR_SET_NAME, "between");
	snprintf(first_name, sizeof(first_name), "%s0", (const char *)side);
	first = load(first_name, 100);
	run(first_name, first);
	for (int i = 1; i <= n_programs; i++) {
		int fd;

		snprintf(name, sizeof(name), "%s%d", (const char *)side, i);
		fd = load(name, 16 + i * 97 % (STEPS_MAX - 16));
		run(name, fd);
		close(fd);
	}
	run(first_name, first);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t left, right;

	if (argc != 3)
		return 2;
	seconds = strtod(argv[1], NULL);
	n_programs = atoi(argv[2]);
	if (pthread_create(&left, NULL, spin, "left") ||
	    pthread_create(&right, NULL, spin, "right"))
		return 1;
	pthread_join(left, NULL);
	pthread_join(right, NULL);
	return 0;
}
