/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/host-files.h"
#include "common/kallsyms.h"
#include "perfdata-source/kernel-names.h"

/* A file that was last written to before this machine was started is of another boot. */
static bool is_of_this_boot(const struct input *input)
{
	uint64_t started = clock_now(CLOCK_REALTIME) - clock_now(CLOCK_BOOTTIME);
	struct statx status;

	return !input->is_seekable ||
	       statx(input->fd, "", AT_EMPTY_PATH, STATX_MTIME, &status) < 0 ||
	       status.stx_mtime.tv_sec >= (int64_t)(started / NANOSECONDS_A_SECOND);
}

/* By the symbol behind the kernel's name, whose address then is told as an offset. */
static bool is_where_it_was(const struct record_mmap2 *kernel, const char *text, size_t size)
{
	uint64_t start, end;

	return kallsyms_find_range(text, size, kernel->path + strlen(KERNEL_NAMES_IMAGE), &start,
				   &end) &&
	       start == kernel->offset;
}

static int refuse(struct stage *stage, const char *why)
{
	stage_warn(stage, "kernel functions have no names: %s", why);
	return 0;
}

int kernel_names_put(struct stage *stage, int kallsyms_fd, const struct input *input,
		     const struct record_mmap2 *kernel)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = kallsyms_fd < 0 ? -EACCES : host_files_read_kallsyms(kallsyms_fd, &text, &size);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return refuse(stage, HOST_FILES_KALLSYMS_NEED);
	if (!is_of_this_boot(input) || !is_where_it_was(kernel, text, size))
		return refuse(stage, "the machine was started anew since it was recorded");
	return host_files_put_kallsyms(stage, text, size, stage->last_time);
}
