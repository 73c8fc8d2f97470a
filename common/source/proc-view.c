/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "common/source/proc-view.h"

static bool shows_all(uint32_t pid)
{
	return pid != 0 && pid != PID_UNKNOWN;
}

static bool is_nothing(uint32_t pid)
{
	return false;
}

static bool is_gone(uint32_t pid)
{
	return shows_all(pid) && proc_is_gone(pid);
}

static uid_t find_no_user(uint32_t pid)
{
	return TASK_USER_UNKNOWN;
}

static int read_live_maps(struct proc_view *view, uint32_t pid, enum maps_kind kind,
			  struct proc_maps *ret)
{
	return shows_all(pid) ? maps_reader_read(&view->maps_reader, pid, kind, ret) : -ESRCH;
}

static int read_opened_maps(struct proc_view *view, uint32_t pid, enum maps_kind kind,
			    struct proc_maps *ret)
{
	int fd = shows_all(pid) ? view->find_maps(pid, view->arg) : -ESRCH;
	int r = fd < 0 ? fd : proc_read_open_maps(fd, ret);

	ret->task = pid;
	return r;
}

static int read_no_maps(struct proc_view *view, uint32_t pid, enum maps_kind kind,
			struct proc_maps *ret)
{
	return -ESRCH;
}

static int read_no_cgroup(uint32_t pid, char ret[CGROUP_PATH_MAX])
{
	return -ESRCH;
}

static int each_of_none(uint32_t pid, int (*each)(uint32_t tid, void *arg), void *arg)
{
	return -ESRCH;
}

const struct proc_view proc_view_live = {
	.shows = shows_all,
	.is_gone = is_gone,
	.find_user = task_user,
	.read_maps = read_live_maps,
	.read_cgroup = cgroup_read,
	.each_thread = proc_each_thread,
	.read_name = proc_read_name,
	.read_thread_name = proc_read_thread_name,
	.find_start = proc_find_start,
	.find_own_pid = proc_find_own_pid,
	.find_parent = proc_find_parent,
};

const struct proc_view proc_view_opened = {
	.shows = shows_all,
	.is_gone = is_gone,
	.find_user = task_user,
	.read_maps = read_opened_maps,
	.read_cgroup = read_no_cgroup,
	.each_thread = each_of_none,
	.read_name = proc_read_name,
	.find_start = proc_find_start,
	.find_own_pid = proc_find_own_pid,
	.find_parent = proc_find_parent,
};

const struct proc_view proc_view_absent = {
	.shows = is_nothing,
	.is_gone = is_nothing,
	.find_user = find_no_user,
	.read_maps = read_no_maps,
	.read_cgroup = read_no_cgroup,
	.each_thread = each_of_none,
};
