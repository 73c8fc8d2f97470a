/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "preload-source/injected/filtered.h"
#include "preload-source/injected/system-call.h"
#include "preload-source/injected/text.h"

enum { STATUS_SIZE = 8192 };

bool filtered_flag;
static uint32_t n_setting, n_set; /* calls in progress; calls that have set a filter */

static bool has_no_clock;

void filtered_lose_clock(void)
{
	__atomic_store_n(&has_no_clock, true, __ATOMIC_RELAXED);
}

bool filtered_has_clock(void)
{
	return !__atomic_load_n(&has_no_clock, __ATOMIC_RELAXED);
}

static void update(void)
{
	bool is = __atomic_load_n(&n_setting, __ATOMIC_SEQ_CST) ||
		  __atomic_load_n(&n_set, __ATOMIC_SEQ_CST);

	__atomic_store_n(&filtered_flag, is, __ATOMIC_SEQ_CST);
}

void filtered_begin(void)
{
	__atomic_fetch_add(&n_setting, 1, __ATOMIC_SEQ_CST);
	update();
}

void filtered_end(bool is_set)
{
	if (is_set)
		__atomic_fetch_add(&n_set, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&n_setting, 1, __ATOMIC_SEQ_CST);
	update();
}

/* A number of /proc/self/status (proc(5)); 0: no such line. */
static uint64_t find_number(const char *status, const char *name)
{
	const char *number = NULL;

	for (; *status && !number; status++)
		number = text_behind(status, name);
	return number ? text_number(number) : 0;
}

bool filtered_from_before(uint64_t n_expected)
{
	char status[STATUS_SIZE];
	uint64_t n;
	long size,
		fd = system_call(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false; /* without /proc a filter cannot be seen */
	size = system_call(SYS_read, fd, status, sizeof(status) - 1);
	system_call(SYS_close, fd);
	status[size > 0 ? size : 0] = 0;
	n = find_number(status, "\nSeccomp_filters:");
	if (!n) /* before Linux 5.9 */
		n = find_number(status, "\nSeccomp:") != 0;
	return n > n_expected;
}
