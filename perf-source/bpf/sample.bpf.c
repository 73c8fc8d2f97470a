/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides whether a sampling event takes a sample: the kernel drops it if the result is 0. */
#include "perf-source/bpf/kernel-types.h"

#include "perf-source/bpf/followed-set.h"
#include "perf-source/bpf/sample-terms.h"

char gpl[] SEC("license") = "GPL";

/* Constant once the program is loaded, so that the kernel drops what is not needed. */
const volatile struct sample_term terms[SAMPLE_TERMS_MAX];
const volatile uint32_t n_terms;
const volatile bool follows; /* else all processes count */

uint64_t n_skipped;

struct followed_set followed SEC(".maps");

static __always_inline bool has_comm(const volatile struct sample_term *term)
{
	/* Linux 6.1 writes no further than the comm's end. */
	uint64_t comm[SAMPLE_COMM_SIZE / sizeof(uint64_t)] = { 0 };

	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == term->comm_words[0] && comm[1] == term->comm_words[1];
}

/* Whether the current task is the one of a term. */
static __always_inline bool matches(const volatile struct sample_term *term)
{
	switch (term->field) {
	case SAMPLE_PID:
		return bpf_get_current_pid_tgid() >> PID_SHIFT == term->number;
	case SAMPLE_TID:
		return (uint32_t)bpf_get_current_pid_tgid() == term->number;
	case SAMPLE_UID:
		return (uint32_t)bpf_get_current_uid_gid() == term->number;
	case SAMPLE_GID:
		return bpf_get_current_uid_gid() >> PID_SHIFT == term->number;
	case SAMPLE_COMM:
		return has_comm(term);
	default:
		return bpf_get_current_ancestor_cgroup_id(term->level) == term->number;
	}
}

/* Each group needs a term that holds. */
static __always_inline bool is_wanted(void)
{
	bool holds = false;

	for (uint32_t i = 0; i < SAMPLE_TERMS_MAX && i < n_terms; i++) {
		holds = holds || matches(&terms[i]) == terms[i].is_equal;
		if (!terms[i].ends_group)
			continue;
		if (!holds)
			return false;
		holds = false;
	}
	return true;
}

static __always_inline bool is_followed(void)
{
	uint32_t pid = bpf_get_current_pid_tgid() >> PID_SHIFT;

	return bpf_map_lookup_elem(&followed, &pid);
}

SEC("perf_event")
int at_sample(void *ctx)
{
	if (follows && !is_followed())
		return 0;
	if (is_wanted())
		return 1;
	__sync_fetch_and_add(&n_skipped, 1);
	return 0;
}
