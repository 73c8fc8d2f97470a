/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Events that can be counted: calls of a function from two callers, in threads and children, and
 * pages touched for the first time.
 *
 *	events CALLS CHILDREN PAGES	each child calls once, and so does one thread per child
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define EACH_OF_ITS_OWN __attribute__((noinline, noclone, noipa))

static EACH_OF_ITS_OWN int probed(int number)
{
	return number + 1;
}

static EACH_OF_ITS_OWN int call_often(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += probed(i);
	return sum;
}

static EACH_OF_ITS_OWN int call_one_time(void)
{
	return probed(1) - 1;
}

static void *run_thread(void *arg)
{
	call_one_time();
	return arg;
}

static EACH_OF_ITS_OWN void touch_pages(char *memory, int n, size_t page)
{
	for (int i = 0; i < n; i++)
		memory[i * page] = 1;
}

static EACH_OF_ITS_OWN void use_pages(int n)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory =
		mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, n * page, MADV_NOHUGEPAGE);
	touch_pages(memory, n, page);
	munmap(memory, n * page);
}

int main(int argc, char **argv)
{
	int n_children;

	if (argc != 4)
		return 2;
	n_children = atoi(argv[2]);
	call_often(atoi(argv[1]));
	use_pages(atoi(argv[3]));
	for (int i = 0; i < n_children; i++) {
		pthread_t thread;
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(call_one_time());
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 1 << 8)
			return 1;
		if (pthread_create(&thread, NULL, run_thread, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	return 0;
}
