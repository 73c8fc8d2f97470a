/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replaces its own text by a copy in anonymous memory, as programs do that want huge pages, and
 * runs on, in functions of which only one keeps a frame pointer:
 *
 *	replaced copy SECONDS	maps memory over it and copies the text back
 *	replaced move SECONDS	moves a copy over it, by mremap(2)
 *	replaced part SECONDS	as copy, only the page that runs
 *	replaced change SECONDS	as copy, with other code in a page that does not run
 *	replaced patch SECONDS	as copy, with other code in the page that runs
 *
 * From then on the process is named "moved".
 */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FAR __attribute__((noipa))

enum { ROUNDS = 1000000, PAGE = 4096 };

/* Never called. */
FAR void beside(void)
{
	for (int i = 0; i < 16; i++)
		__asm__ volatile("nop");
}

FAR void spin(long n)
{
	for (; n > 0; n--)
		__asm__ volatile("");
}

FAR void inner(long n)
{
	spin(n);
	__asm__ volatile("");
}

FAR void middle(long n)
{
	inner(n);
	__asm__ volatile("");
}

FAR void outer(long n)
{
	char *room = alloca(n % 64 + 16);

	__asm__ volatile("" : : "r"(room) : "memory");
	middle(n);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d,
						       long e, long f)
{
	register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

/* Copied and run elsewhere, as the text is absent meanwhile. */
FAR __attribute__((aligned(4096), section(".replace"), optimize("O1", "no-stack-protector"))) void
replace(uintptr_t text, size_t size, char *copy, int moves)
{
	const long all = PROT_READ | PROT_WRITE | PROT_EXEC, rest = PROT_READ | PROT_EXEC;

	if (moves) {
		call(SYS_mremap, (long)copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, text, 0);
	} else {
		call(SYS_mmap, text, size, all, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		for (size_t i = 0; i < size; i++)
			((volatile char *)text)[i] = copy[i];
	}
	call(SYS_mprotect, text, size, rest, 0, 0, 0);
}

static int find_text(uintptr_t *ret, size_t *ret_size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], rights[8];
	uintptr_t start, end;
	int is_found = 0;

	while (maps && !is_found && fgets(line, sizeof(line), maps))
		is_found = sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 &&
			   (uintptr_t)spin >= start && (uintptr_t)spin < end;
	if (maps)
		fclose(maps);
	*ret = start;
	*ret_size = end - start;
	return is_found ? 0 : -1;
}

static char *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
}

/* Changes the copy where that does not affect what runs. */
static void change(const char *way, char *copy, uintptr_t text)
{
	if (!strcmp(way, "change"))
		memset(copy + ((uintptr_t)replace - text), 0x90, 16);
	if (!strcmp(way, "patch"))
		memset(copy + ((uintptr_t)beside - text), 0x90, 1);
}

int main(int argc, char *argv[])
{
	time_t until = time(NULL) + (argc == 3 ? atol(argv[2]) : 0);
	char *copy, *elsewhere = map(PAGE);
	uintptr_t text;
	size_t size;

	if (argc != 3 || find_text(&text, &size) < 0)
		return 1;
	if (!strcmp(argv[1], "part")) {
		text = (uintptr_t)spin & -PAGE;
		size = PAGE;
	}
	copy = map(size);
	memcpy(copy, (char *)text, size);
	memcpy(elsewhere, (char *)replace, PAGE / 2);
	change(argv[1], copy, text);
	((__typeof__(&replace))elsewhere)(text, size, copy, !strcmp(argv[1], "move"));
	prctl(PR_SET_NAME, "moved");
	while (time(NULL) < until)
		outer(ROUNDS);
	return 0;
}
