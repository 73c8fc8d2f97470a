/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/wait-reasons.h"

/* Strips the prefixes of the kernel's system call functions (include/linux/syscalls.h). */
static const char *without_prefix(const char *name)
{
	static const char *const prefixes[] = { "__x64_sys_", "__ia32_sys_", "__arm64_sys_",
						"__do_sys_",  "__se_sys_",   "__sys_",
						"ksys_",      "do_sys_",     "do_",
						"kernel_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return name + strlen(prefixes[i]);
	return name;
}

/* Whether a function dispatches system calls: its callee implements the call. */
static bool is_dispatcher(const char *name)
{
	return !strcmp(name, "do_syscall_64") || !strcmp(name, "x64_sys_call") ||
	       !strcmp(name, "invoke_syscall") || !strcmp(name, "do_int80_syscall_32");
}

/*
 * Whether a function waits for the lock of CPython's interpreter (Python/ceval_gil.c), and not for
 * what the program wants.
 */
static bool waits_for_interpreter(const char *name)
{
	static const char *const names[] = { "take_gil", "drop_gil", "PyEval_RestoreThread",
					     "PyEval_AcquireThread" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static uint32_t intern(const struct profile *profile, const char *text)
{
	return names_intern(&profile->stacks->names, text, strlen(text));
}

/* The reason after one more call in the kernel; `reason` is that of its callers. */
static uint32_t reason_of_call(const struct profile *profile, const char *caller, const char *name,
			       uint32_t reason)
{
	if (strstr(name, "exc_page_fault"))
		return intern(profile, "page fault");
	if (is_dispatcher(name))
		return 0;
	return is_dispatcher(caller) ? intern(profile, without_prefix(name)) : reason;
}

/* The name of a location's innermost function; "" if it is not the kernel's. */
static const char *kernel_name(const struct profile *profile, uint32_t node)
{
	const struct profile_location *location =
		&profile->locations[profile->nodes[node].location];

	return location->kind == PROFILE_KERNEL && location->n_calls
		       ? profile_text(
				 profile,
				 profile->calls[location->first_call + location->n_calls - 1].name)
		       : "";
}

static bool has_interpreter_wait(const struct profile *profile,
				 const struct profile_location *location)
{
	for (uint32_t i = 0; i < location->n_calls; i++)
		if (waits_for_interpreter(
			    profile_text(profile, profile->calls[location->first_call + i].name)))
			return true;
	return false;
}

/* A function inlined into a kernel function counts as its callee. */
static uint32_t reason_of_node(const struct wait_reasons *reasons, uint32_t node)
{
	const struct profile *profile = reasons->profile;
	const struct profile_location *location =
		&profile->locations[profile->nodes[node].location];
	uint32_t parent = profile->nodes[node].parent, reason = reasons->of_node[parent];
	const char *caller = kernel_name(profile, parent);

	if (location->kind == PROFILE_CUT)
		return location->label;
	if (reason && reason == reasons->interpreter)
		return reason;
	if (location->kind != PROFILE_KERNEL)
		return location->kind == PROFILE_USER && has_interpreter_wait(profile, location)
			       ? reasons->interpreter
			       : 0;
	for (uint32_t i = 0; i < location->n_calls; i++) {
		const char *name =
			profile_text(profile, profile->calls[location->first_call + i].name);

		reason = reason_of_call(profile, caller, name, reason);
		caller = name;
	}
	return reason;
}

int wait_reasons_init(struct wait_reasons *reasons, const struct profile *profile)
{
	*reasons = (struct wait_reasons){
		.profile = profile,
		.of_node = calloc(profile->n_nodes, sizeof(*reasons->of_node)),
	};
	if (!reasons->of_node)
		return -ENOMEM;
	if (!events_have_waits(&profile->stacks->events))
		return 0;
	reasons->preempted = intern(profile, "preempted");
	reasons->interpreter = intern(profile, "Python's GIL");
	for (size_t i = 1; i < profile->n_nodes; i++) /* a parent comes before its children */
		reasons->of_node[i] = reason_of_node(reasons, i);
	return 0;
}

void wait_reasons_deinit(struct wait_reasons *reasons)
{
	free(reasons->of_node);
	*reasons = (struct wait_reasons){ 0 };
}

uint32_t wait_reason(const struct wait_reasons *reasons, const struct profile_sample *sample)
{
	if (!events_is_wait(&reasons->profile->stacks->events, sample->event))
		return 0;
	return sample->flags & WIRE_sample_flags_PREEMPTED ? reasons->preempted
							   : reasons->of_node[sample->node];
}
