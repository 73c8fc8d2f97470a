/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "profile/waiter.h"

/* Functions of the scheduler, by prefix (kernel/sched/core.c, kernel/time/sleep_timeout.c). */
static const char *const scheduler[] = { "schedule",	     "__schedule",     "io_schedule",
					 "preempt_schedule", "__cond_resched", NULL };

/*
 * Since glibc 2.41 one function makes all cancellable system calls (nptl/cancellation.c,
 * sysdeps/unix/sysv/linux/syscall_cancel.c). Without symbols, it and other functions that are not
 * exported have a name made from the file's name.
 */
static const char *const inside_libc[] = { "__syscall_cancel", "__internal_syscall_cancel",
					   "[libc.so.", "[libc-", NULL };

static const struct profile_location *location_of(const struct profile *profile, uint32_t node)
{
	return &profile->locations[profile->nodes[node].location];
}

static bool is_kernel(const struct profile *profile, uint32_t node)
{
	return location_of(profile, node)->kind == PROFILE_KERNEL;
}

static bool begins_with_one(const struct profile *profile, uint32_t node,
			    const char *const *prefixes)
{
	const struct profile_location *location = location_of(profile, node);
	const char *name = profile_text(profile, profile->calls[location->first_call].name);

	while (*prefixes && strncmp(name, *prefixes, strlen(*prefixes)) != 0)
		prefixes++;
	return *prefixes;
}

/* The first caller in the same file that is not in `inside_libc`; `node` if there is none. */
static uint32_t exported_caller(const struct profile *profile, uint32_t node)
{
	uint32_t module = location_of(profile, node)->module, caller = node;

	while (caller && location_of(profile, caller)->kind == PROFILE_USER &&
	       location_of(profile, caller)->module == module &&
	       begins_with_one(profile, caller, inside_libc))
		caller = profile->nodes[caller].parent;
	return caller && location_of(profile, caller)->kind == PROFILE_USER &&
			       location_of(profile, caller)->module == module
		       ? caller
		       : node;
}

uint32_t profile_waiter(const struct profile *profile, uint32_t node)
{
	uint32_t user = node, caller = node;

	while (user && is_kernel(profile, user))
		user = profile->nodes[user].parent;
	if (user)
		return exported_caller(profile, user);
	while (caller && begins_with_one(profile, caller, scheduler))
		caller = profile->nodes[caller].parent;
	return caller ? caller : node;
}
