/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many records about mappings and names one process, and all processes of one user, may emit.
 * Each costs this source and every later stage, so those beyond a budget are dropped, and no other
 * process has to wait. The budgets are token buckets, each kept as the time up to which it is
 * spent.
 *
 * An interpreter that imports everything maps about 3,000 times, a browser's process a few hundred,
 * a JIT compiler that makes its code writable in between up to a thousand times a second.
 *
 * Processes over budget are counted, and reported at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/source/processes-internal.h"

enum {
	ACCOUNTS_MAX = 4096,   /* users; others have no limit, only their processes */
	ASK_USER_AT = 64,      /* records: most processes have ended before */
	ASK_USER_EVERY = 4096, /* records: root's process may have changed user */
	LARGE_MAPS = 4096,     /* mappings: rarely more, and this many cost little */
	NAMED_MAX = 64,	       /* processes that are counted by name */
};

#define PROCESS_COST_NS (NANOSECONDS_A_SECOND / 2000) /* sustained cost of a record */
#define PROCESS_BURST_NS (100000 * PROCESS_COST_NS)   /* more than can be mapped at one time */
#define UID_BURST_RECORDS 200000
#define UID_BURST_MAPS 65536 /* mappings of large processes; charged at each reading */
/*
 * Looks into /proc for one user's processes may take a quarter of the time. A look takes 40 µs, but
 * 0.3 ms where all CPUs are busy.
 */
#define LOOKS_SHARE 4
#define LOOKS_BURST_NS 200000000ULL /* with the share: 50 ms at one time */
#define STORM_NS 100000000ULL	    /* after so long within its budget a storm is over */

/* What all processes of a user have spent. */
struct process_account {
	UT_hash_handle hh;
	uint32_t uid;
	uint64_t until;
	uint64_t looks_until; /* for looks into /proc */
};

void processes_drop_accounts(struct processes *processes)
{
	struct process_account *account, *next;

	HASH_ITER(hh, processes->accounts, account, next)
	{
		HASH_DEL(processes->accounts, account);
		free(account);
	}
	processes->n_accounts = 0;
}

static struct process_account *find_account(struct processes *processes, uint32_t uid)
{
	struct process_account *account;

	HASH_FIND(hh, processes->accounts, &uid, sizeof(uid), account);
	if (account || processes->n_accounts == ACCOUNTS_MAX)
		return account;
	account = calloc(1, sizeof(*account));
	if (!account)
		return NULL;
	account->uid = uid;
	HASH_ADD(hh, processes->accounts, uid, sizeof(account->uid), account);
	if (!HASH_HAS(hh, account)) {
		free(account);
		return NULL;
	}
	processes->n_accounts++;
	return account;
}

/* Root's processes get no account, because only they may become another user's. */
static void look_for_account(struct processes *processes, struct tracked_process *process)
{
	uid_t user = processes->proc.find_user(process->pid);

	if (user != 0 && user != TASK_USER_UNKNOWN)
		process->spending.account = find_account(processes, user);
}

/*
 * Looks for the user of a process once it has emitted enough records to matter, and later again
 * while it has no account.
 */
static void find_user(struct processes *processes, struct tracked_process *process)
{
	struct process_spending *spending = &process->spending;
	uint32_t n = ++spending->n_records;

	if (processes->uid_cost && !spending->account &&
	    (n == ASK_USER_AT || n % ASK_USER_EVERY == 0))
		look_for_account(processes, process);
}

void processes_inherit_account(struct processes *processes, struct tracked_process *child,
			       struct tracked_process *parent)
{
	find_user(processes, parent);
	child->spending.account = parent->spending.account;
}

void processes_count_refused(struct refused_processes *refused,
			     const struct tracked_process *process)
{
	if (refused->n++)
		return;
	refused->first_pid = process->pid;
	snprintf(refused->first_name, sizeof(refused->first_name), "%s", process->name);
}

/* Charges a cost to a budget, or nothing if the budget is used up. */
static bool take(uint64_t *until, uint64_t time, uint64_t cost, uint64_t burst)
{
	if (*until < time)
		*until = time;
	if (*until - time > burst)
		return false;
	*until += cost;
	return true;
}

static void refuse(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	struct process_spending *spending = &process->spending;

	process->space->lost_until = time;
	spending->is_refused = true;
	if (!spending->n_refused) {
		spending->n_refused = counters_get(
			&processes->stage->counters, "over-budget",
			processes->over_budget.n < NAMED_MAX ? process->name : "others");
		processes_count_refused(&processes->over_budget, process);
	}
	++*spending->n_refused;
}

bool processes_spend(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	struct process_spending *spending = &process->spending;
	struct process_account *account;

	find_user(processes, process);
	account = spending->account;
	if (take(&spending->until, time, PROCESS_COST_NS, PROCESS_BURST_NS) &&
	    (!account || take(&account->until, time, processes->uid_cost,
			      UID_BURST_RECORDS * processes->uid_cost))) {
		spending->is_refused = false;
		return true;
	}
	refuse(processes, process, time);
	return false;
}

bool processes_spend_maps(struct processes *processes, struct tracked_process *process, size_t n,
			  uint64_t time)
{
	struct process_spending *spending = &process->spending;

	if (n < LARGE_MAPS)
		return true;
	if (!spending->account)
		look_for_account(processes, process);
	return !spending->account || take(&spending->account->until, time, n * processes->uid_cost,
					  UID_BURST_MAPS * processes->uid_cost);
}

bool processes_may_look(const struct tracked_process *process, uint64_t time)
{
	struct process_account *account = process->spending.account;

	return !account || take(&account->looks_until, time, 0, LOOKS_BURST_NS);
}

void processes_spend_look(const struct tracked_process *process, uint64_t took)
{
	if (process->spending.account)
		process->spending.account->looks_until += took * LOOKS_SHARE;
}

bool processes_is_storming(const struct tracked_process *process, uint64_t time)
{
	return process->space->lost_until && time < process->space->lost_until + STORM_NS;
}

static void warn_of(struct stage *stage, const struct refused_processes *refused, const char *text)
{
	if (refused->n)
		stage_warn(stage, "%" PRIu64 " processes (first: '%s', PID %" PRIu32 ") %s",
			   refused->n, refused->first_name, refused->first_pid, text);
}

void processes_warn_of_refused(const struct processes *processes)
{
	warn_of(processes->stage, &processes->over_budget,
		"mapped code or changed their names too often to record each change: their stacks "
		"end with mappings-lost");
	warn_of(processes->stage, &processes->over_limit,
		"have more code mapped than the limit: their stacks end with mapping-limit");
}
