/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The control group of a process, by its path below the root of its hierarchy (cgroups(7)). Many
 * processes share one: it is kept once for those that have it from each other.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CGROUP_PATH_MAX = 1024 };

struct cgroup {
	uint32_t n_users;
	char path[];
};

/* NULL: no memory. */
struct cgroup *cgroup_new(const char *path);

/* One more user, and one less, who frees it if he was the last. NULL is allowed. */
struct cgroup *cgroup_share(struct cgroup *cgroup);
void cgroup_drop(struct cgroup *cgroup);

static inline void cgroup_dropp(struct cgroup **cgroup)
{
	cgroup_drop(*cgroup);
}

/*
 * Of what /proc/PID/cgroup holds, the path that says most, whatever the hierarchy: one of a
 * container, else of a unit, else the longest. Container runtimes and systemd use the same in all,
 * but on a host with both versions the older one's may be somebody else's. Empty: the root. `text`
 * is changed.
 */
void cgroup_parse(char *text, char ret[CGROUP_PATH_MAX]);

/* The group of a process: 0 or -errno: -ENOENT, -ESRCH: there is no such process. */
int cgroup_read(uint32_t pid, char ret[CGROUP_PATH_MAX]);

/*
 * What a path says of who runs there; empty where it says nothing.
 *	container: the number of 64 (or 32) hexadecimal digits by which Docker, Podman, containerd
 *	and CRI-O name scopes and folders, or the name behind "lxc.payload." or "machine-";
 *	unit: the innermost part that is a service, a scope, or a slice of systemd's.
 */
enum { CGROUP_LABEL_MAX = 128 };
void cgroup_container(const char *path, char ret[CGROUP_LABEL_MAX]);
void cgroup_unit(const char *path, char ret[CGROUP_LABEL_MAX]);
