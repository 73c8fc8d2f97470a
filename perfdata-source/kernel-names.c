/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/file/owned-file.h"
#include "common/image-server/image-client.h"
#include "common/source/host-files.h"
#include "common/source/kernel-build-id.h"
#include "common/stream/kallsyms.h"
#include "perfdata-source/kernel-names.h"

#define ANOTHER_BOOT "the machine has been rebooted since the recording"

/* Only a copy that no other user can have written is trusted. */
static int open_copy(const struct kernel_names *names)
{
	_cleanup_fd_ int fd = -1;
	struct stat status;

	if (image_open_copy(names->build_id, names->build_id_size, "kallsyms", &fd) < 0 ||
	    fstat(fd, &status) < 0 || !owned_file_is_ours(&status))
		return -1;
	return take_fd(&fd);
}

/* A kernel without support for modules has no such file. */
static bool are_modules_loaded(void)
{
	_cleanup_fd_ int fd = open("/proc/modules", O_RDONLY | O_CLOEXEC);
	char first;

	return fd < 0 ? errno != ENOENT : read(fd, &first, 1) != 0;
}

void kernel_names_open(struct kernel_names *names)
{
	names->kallsyms_fd = host_files_open_kallsyms();
	names->build_id_size = kernel_build_id_read(names->build_id);
	names->copy_fd = open_copy(names);
	names->has_modules = are_modules_loaded();
}

void kernel_names_close(struct kernel_names *names)
{
	if (names->kallsyms_fd >= 0)
		close(names->kallsyms_fd);
	if (names->copy_fd >= 0)
		close(names->copy_fd);
}

void kernel_names_take(struct kernel_names *names, const struct perf_record_mmap2 *mapping)
{
	const size_t prefix = strlen(KERNEL_NAMES_IMAGE);

	if (strncmp(mapping->path, KERNEL_NAMES_IMAGE, prefix)) {
		names->has_modules = true;
		return;
	}
	if (names->is_emitted) /* the kernel proper comes first */
		return;
	names->is_emitted = true;
	snprintf(names->symbol, sizeof(names->symbol), "%s", mapping->path + prefix);
	names->address = mapping->offset;
}

/* A file last written before this machine booted is of another boot. */
static bool is_of_this_boot(const struct input *input)
{
	uint64_t started = clock_now(CLOCK_REALTIME) - clock_now(CLOCK_BOOTTIME);
	struct statx status;

	return !input->is_seekable ||
	       statx(input->fd, "", AT_EMPTY_PATH, STATX_MTIME, &status) < 0 ||
	       status.stx_mtime.tv_sec >= (int64_t)(started / NANOSECONDS_A_SECOND);
}

/* Whether the symbol in perf's mapping record still has the recorded address. */
static bool is_where_it_was(const struct kernel_names *names, const char *text, size_t size)
{
	struct kallsyms_range symbol = { .name = names->symbol };

	kallsyms_find_ranges(text, size, &symbol, 1);
	return symbol.end && symbol.start == names->address;
}

/* Size before the first line "… name\t[module]"; kernel/kallsyms.c prints modules last. */
static size_t size_of_own(const char *text)
{
	const char *module = strstr(text, "\t[");

	if (!module)
		return strlen(text);
	while (module > text && module[-1] != '\n')
		module--;
	return module - text;
}

static bool is_recorded(const struct kernel_names *names, struct wire_blob build_id)
{
	return build_id.size == names->build_id_size &&
	       !memcmp(build_id.data, names->build_id, build_id.size);
}

/* Reads the kernel proper's names; NULL: the copy has none with these addresses. 0 or -ENOMEM. */
static int read_copy(const struct kernel_names *names, struct wire_blob build_id, char **ret,
		     size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	int r;

	*ret = NULL;
	if (names->copy_fd < 0 || !is_recorded(names, build_id))
		return 0;
	r = host_files_read_kallsyms(names->copy_fd, &text, ret_size);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	*ret_size = size_of_own(text);
	if (is_where_it_was(names, text, *ret_size))
		*ret = take_pointer(text);
	return 0;
}

/* `ret_why_not`: why there are no names. 0 or -ENOMEM. */
static int read_kallsyms(const struct kernel_names *names, const struct input *input, char **ret,
			 size_t *ret_size, const char **ret_why_not)
{
	_cleanup_free_ char *text = NULL;
	int r = names->kallsyms_fd < 0
			? -EACCES
			: host_files_read_kallsyms(names->kallsyms_fd, &text, ret_size);

	*ret = NULL;
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		*ret_why_not = HOST_FILES_KALLSYMS_NEED;
	else if (!is_of_this_boot(input) || !is_where_it_was(names, text, *ret_size))
		*ret_why_not = ANOTHER_BOOT;
	else
		*ret = take_pointer(text);
	return 0;
}

int kernel_names_settle(struct kernel_names *names, struct stage *stage, const struct input *input,
			struct wire_blob build_id)
{
	_cleanup_free_ char *copy = NULL, *all = NULL;
	const char *why_not = NULL;
	size_t copy_size, all_size;
	int r = read_copy(names, build_id, &copy, &copy_size);

	names->is_settled = true;
	if (r == 0 && (!copy || names->has_modules))
		r = read_kallsyms(names, input, &all, &all_size, &why_not);
	if (r < 0)
		return r;
	if (why_not)
		stage_warn(stage, "%s have no names: %s",
			   copy ? "functions of kernel modules" : "kernel functions", why_not);
	if (all || copy)
		register_writers_find(&names->writers, all ?: copy, all ? all_size : copy_size);
	if (all)
		return host_files_put_kallsyms(stage, all, all_size, stage->last_time);
	return copy ? host_files_put_kallsyms(stage, copy, copy_size, stage->last_time) : 0;
}
