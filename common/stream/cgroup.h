/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The control group of a process: its path below the root of its hierarchy (cgroups(7)). It is
 * reference-counted, because a process shares that of its parent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CGROUP_PATH_MAX = 1024 };

struct cgroup {
	uint32_t n_users;
	char path[];
};

/* Has one reference; NULL: no memory. */
struct cgroup *cgroup_new(const char *path);

/* Takes and releases a reference; the last release frees. NULL is allowed. */
struct cgroup *cgroup_share(struct cgroup *cgroup);
void cgroup_drop(struct cgroup *cgroup);

static inline void cgroup_dropp(struct cgroup **cgroup)
{
	cgroup_drop(*cgroup);
}

/*
 * Picks the most informative path of /proc/PID/cgroup, whatever the hierarchy: one of a container,
 * else of a unit, else the longest. Container runtimes and systemd use the same path in all
 * hierarchies, but on a host with both versions the one in version 1 may be unrelated. Empty: the
 * root. Modifies `text`.
 */
void cgroup_parse(char *text, char ret[CGROUP_PATH_MAX]);

/* Reads the group of a process. 0 or -errno; -ENOENT, -ESRCH: no such process. */
int cgroup_read(uint32_t pid, char ret[CGROUP_PATH_MAX]);

/*
 * What a path reveals; empty if nothing.
 *	container: the id of 64 (or 32) hexadecimal digits by which Docker, Podman, containerd and
 *	CRI-O name groups, or the name after "lxc.payload.", "machine-" or "systemd-nspawn@";
 *	unit: the innermost component that is a service or scope, else a slice of systemd.
 */
enum { CGROUP_LABEL_MAX = 128 };
void cgroup_container(const char *path, char ret[CGROUP_LABEL_MAX]);
void cgroup_unit(const char *path, char ret[CGROUP_LABEL_MAX]);
