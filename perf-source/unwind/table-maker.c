/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/elf/elf-image.h"
#include "common/stage/helper-process.h"
#include "common/unwind/unwind-source.h"
#include "perf-source/unwind/table-maker.h"

enum {
	OUTPUT_FD = HELPER_PROCESS_FD,
	FIRST_FILE_FD,
	ALIGNMENT = 8, /* of each table, behind its size */
};

static bool write_all(const void *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(OUTPUT_FD, bytes, size);

		if (n <= 0)
			return false;
		bytes = (const char *)bytes + n;
		size -= n;
	}
	return true;
}

static bool write_table(const struct unwind_table *table)
{
	static const char padding[ALIGNMENT];
	uint64_t size = table->size;

	return write_all(&size, sizeof(size)) && write_all(table->header, size) &&
	       write_all(padding, -size % ALIGNMENT);
}

/* Compiles the table of a file, which is given over. 0: `ret` is to be deinited; or -errno. */
static int compile(int fd, struct unwind_table *ret)
{
	struct unwind_bytes bytes;
	struct elf_image elf;
	int r;

	if (elf_image_open_descriptor(fd, 0, &elf) != ELF_IMAGE_OK)
		return -ENOEXEC;
	r = unwind_bytes_read(&elf, &bytes);
	if (r == 0) {
		r = bytes.source.n_sections || bytes.source.n_plts || bytes.source.go
			    ? unwind_table_compile(&bytes.source, ret)
			    : -ENOENT;
		unwind_bytes_deinit(&bytes);
	}
	elf_image_close(&elf);
	return r;
}

/* Runs in the helper. */
static void run(pid_t parent, size_t n)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || !helper_process_confine_reader(SCMP_SYS(write)))
		_exit(1);
	for (size_t i = 0; i < n; i++) {
		struct unwind_table table = { 0 };
		bool is_written;

		if (compile(FIRST_FILE_FD + i, &table) < 0)
			table = (struct unwind_table){ 0 };
		is_written = write_table(&table);
		unwind_table_deinit(&table);
		if (!is_written)
			_exit(1);
	}
	_exit(0);
}

int table_maker_begin(struct table_maker *maker, const int *files, size_t n)
{
	int fds[1 + TABLE_MAKER_FILES_MAX];
	pid_t parent = getpid();
	int r;

	*maker = (struct table_maker){
		.n = n,
		.output = memfd_create("stackpipe-tables", MFD_CLOEXEC),
		.give_up_at = clock_now(CLOCK_MONOTONIC) +
			      TABLE_MAKER_PATIENCE_MS * NANOSECONDS_A_MILLISECOND,
	};
	if (maker->output < 0)
		return -errno;
	fds[0] = maker->output;
	memcpy(fds + 1, files, n * sizeof(*files));
	maker->pid = fork();
	if (maker->pid == 0 && helper_process_begin("table-maker", fds, 1 + n))
		run(parent, n);
	if (maker->pid == 0)
		_exit(1);
	r = maker->pid < 0 ? -errno : 0;
	maker->ended_fd = r == 0 ? helper_process_watch(maker->pid) : -1;
	if (r < 0)
		table_maker_end(maker);
	return r;
}

/* Finds the tables in what the helper has written, which may be anything. */
static bool find_tables(struct table_maker *maker)
{
	size_t at = 0;

	for (size_t i = 0; i < maker->n; i++) {
		const char *bytes = (const char *)maker->map + at;
		uint64_t size;

		if (maker->map_size - at < sizeof(size))
			return false;
		memcpy(&size, bytes, sizeof(size));
		at += sizeof(size);
		if (size > maker->map_size - at)
			return false;
		if (!size || !unwind_table_view(bytes + sizeof(size), size, &maker->tables[i]))
			maker->tables[i] = (struct unwind_table){ 0 };
		at += size + -size % ALIGNMENT;
		if (at > maker->map_size)
			return false;
	}
	return true;
}

static int take_output(struct table_maker *maker)
{
	struct stat status;

	if (fstat(maker->output, &status) < 0)
		return -errno;
	if (!status.st_size || status.st_size > TABLE_MAKER_SIZE_MAX)
		return -EFBIG;
	maker->map_size = status.st_size;
	maker->map = mmap(NULL, maker->map_size, PROT_READ, MAP_PRIVATE, maker->output, 0);
	if (maker->map == MAP_FAILED) {
		maker->map = NULL;
		return -errno;
	}
	return find_tables(maker) ? 0 : -EBADMSG;
}

int table_maker_look(struct table_maker *maker)
{
	int status;

	if (waitpid(maker->pid, &status, WNOHANG) != maker->pid)
		return clock_now(CLOCK_MONOTONIC) < maker->give_up_at ? -EAGAIN : -ETIMEDOUT;
	maker->pid = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? take_output(maker) : -EIO;
}

void table_maker_end(struct table_maker *maker)
{
	/* It may wait for a file for ever: then init reaps it. */
	if (maker->pid > 0) {
		kill(maker->pid, SIGKILL);
		waitpid(maker->pid, NULL, WNOHANG);
	}
	if (maker->map)
		munmap(maker->map, maker->map_size);
	if (maker->output > 0) { /* it was begun */
		close(maker->output);
		if (maker->ended_fd >= 0)
			close(maker->ended_fd);
	}
	*maker = (struct table_maker){ 0 };
}
