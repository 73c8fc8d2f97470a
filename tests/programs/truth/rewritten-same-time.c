/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library gets other content between two uses, and nothing but its ctime shows it: path, size and
 * mtime stay, in most ways the inode, too. So do cp -p, rsync -t --inplace, tar, and any build that
 * gives all its files one time.
 *
 * truth: runs copied
 * truth: chain START main use_left call_left
 * truth: then (left_enter|[library.so]) (left_outer|[library.so]) (left_spin|[library.so])
 * truth: chain START main use_right call_right
 * truth: then (right_enter|[library.so]) (right_outer|[library.so]) (right_spin|[library.so])
 * truth: ends image-unavailable at [library.so]  # sampled before it was opened, or
 * truth: ends image-unavailable at [unknown]     # less than a tick after a change
 * truth: ends image-unavailable at (left_outer|left_spin|right_outer|right_spin)
 * truth: ends image-unavailable at (_init|_fini|__do_global_dtors_aux)
 * truth: aside START main (use_left|use_right|put)? HELPERS*
 * truth: aside START main put (write_over|give_time)? HELPERS*
 * truth: aside START main put write_to_memory (LIBC|LD|PLT)*   # lazy binding
 */
#include <sys/mman.h>

#include "use-sides.h"

enum { TURN = 20000, SIZE = 256 * 1024 };

static char path[PATH_MAX], other[PATH_MAX];

static LINK void give_time(const char *file)
{
	const struct timespec times[] = { { 1, 0 }, { 1, 0 } };

	check(utimensat(AT_FDCWD, file, times, 0) == 0, file);
}

static LINK void write_over(const char *from, const char *to, int flags)
{
	int out = open(to, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0755);

	check(out >= 0 && ftruncate(out, SIZE) == 0, to);
	copy_to(out, from);
	close(out);
}

static LINK void write_to_memory(const char *from)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(path, O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);

	check(in >= 0 && map != MAP_FAILED && read(in, map, SIZE) > 0, path);
	check(msync(map, SIZE, MS_SYNC) == 0 && munmap(map, SIZE) == 0, path);
	close(in);
	close(out);
}

/* Writes the library in one of six ways. */
static LINK void put(const char *from, int way)
{
	switch (way) {
	case 0: /* in place */
		write_over(from, path, 0);
		break;
	case 1: /* truncated and rewritten */
		write_over(from, path, O_TRUNC);
		break;
	case 2: /* through a mapping, without write(2) */
		write_to_memory(from);
		break;
	case 3: /* by another name, then unlinked */
		check(link(path, other) == 0, other);
		write_over(from, other, 0);
		check(unlink(other) == 0, other);
		break;
	case 4: /* replaced by another file */
		write_over(from, other, O_TRUNC);
		give_time(other);
		check(rename(other, path) == 0, path);
		break;
	case 5: /* in place, with another mode meanwhile */
		check(chmod(path, 0600) == 0, path);
		write_over(from, path, 0);
		check(chmod(path, 0755) == 0, path);
	}
	give_time(path);
	STAY();
}

int main(int argc, char **argv)
{
	char left[PATH_MAX], right[PATH_MAX];
	int way = 0;

	strcpy(left, beside("libleft.so"));
	strcpy(right, beside("libright.so"));
	strcpy(path, beside("library.so"));
	strcpy(other, beside("library.other"));
	put(left, 0);
	for (long n = turns(rounds_of(argc, argv), 2 * TURN); n; n--) {
		put(left, way++ % 6);
		use_left(path, TURN);
		put(right, way++ % 6);
		use_right(path, TURN);
	}
	return 0;
}
