/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/hash-table.h"
#include "symbolizer/debuginfod/debuginfod-fetcher.h"
#include "symbolizer/debuginfod/debuginfod-process.h"

struct debuginfod_wanted {
	UT_hash_handle hh;
	struct debuginfod_build_id id; /* the key; zero-filled behind its size */
	uint64_t n_asked;
	enum { QUEUED, IN_FLIGHT, FINISHED } state;
};

int debuginfod_fetcher_start(struct debuginfod_fetcher *ret, const char *urls)
{
	struct debuginfod_fetcher fetcher = { .fd = -1 };
	int r = debuginfod_process_start(urls, &fetcher.pid, &fetcher.fd);

	if (r == 0)
		*ret = fetcher;
	return r;
}

/* The process exits when it sees the socket closed; init reaps it if it does so later. */
static void close_process(struct debuginfod_fetcher *fetcher)
{
	if (fetcher->fd >= 0)
		close(fetcher->fd);
	fetcher->fd = -1;
	if (fetcher->pid > 0)
		waitpid(fetcher->pid, NULL, WNOHANG);
}

static void forget(struct debuginfod_fetcher *fetcher, struct debuginfod_wanted *wanted)
{
	HASH_DEL(fetcher->known, wanted);
	free(wanted);
}

void debuginfod_fetcher_stop(struct debuginfod_fetcher *fetcher)
{
	struct debuginfod_wanted *wanted, *next;

	close_process(fetcher);
	HASH_ITER(hh, fetcher->known, wanted, next)
	forget(fetcher, wanted);
	*fetcher = (struct debuginfod_fetcher){ .fd = -1 };
}

/* Drops the oldest finished request: if requested again, its file is in the cache. */
static bool make_room(struct debuginfod_fetcher *fetcher)
{
	struct debuginfod_wanted *wanted, *next;

	if (HASH_COUNT(fetcher->known) < DEBUGINFOD_KNOWN_MAX)
		return true;
	if (!fetcher->n_finished)
		return false;
	HASH_ITER(hh, fetcher->known, wanted, next)
	{
		if (wanted->state != FINISHED)
			continue;
		forget(fetcher, wanted);
		fetcher->n_finished--;
		return true;
	}
	return false;
}

static int add(struct debuginfod_fetcher *fetcher, const struct debuginfod_build_id *id,
	       struct debuginfod_wanted **ret)
{
	struct debuginfod_wanted *wanted;

	if (!make_room(fetcher)) {
		fetcher->n_refused++;
		return -ENOSPC;
	}
	wanted = calloc(1, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	wanted->id = *id;
	HASH_ADD(hh, fetcher->known, id, sizeof(wanted->id), wanted);
	if (!HASH_HAS(hh, wanted)) {
		free(wanted);
		return -ENOMEM;
	}
	fetcher->n_queued++;
	*ret = wanted;
	return 0;
}

static struct debuginfod_wanted *find_hottest(const struct debuginfod_fetcher *fetcher)
{
	struct debuginfod_wanted *wanted, *next, *hottest = NULL;

	if (!fetcher->n_queued)
		return NULL;
	HASH_ITER(hh, fetcher->known, wanted, next)
	if (wanted->state == QUEUED && (!hottest || wanted->n_asked > hottest->n_asked))
		hottest = wanted;
	return hottest;
}

/* False: the socket is full, or closed by the process, which poll() will notice. */
static bool send_request(struct debuginfod_fetcher *fetcher, struct debuginfod_wanted *wanted)
{
	struct debuginfod_request request = { .size = wanted->id.size };

	while (fetcher->in_flight[request.number])
		request.number++;
	memcpy(request.build_id, wanted->id.bytes, wanted->id.size);
	if (send(fetcher->fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return false;
	fetcher->in_flight[request.number] = wanted;
	wanted->state = IN_FLIGHT;
	fetcher->n_in_flight++;
	fetcher->n_queued--;
	return true;
}

static void send_requests(struct debuginfod_fetcher *fetcher)
{
	struct debuginfod_wanted *wanted;

	while (fetcher->n_in_flight < DEBUGINFOD_IN_FLIGHT_MAX &&
	       (wanted = find_hottest(fetcher)) && send_request(fetcher, wanted))
		;
}

int debuginfod_fetcher_ask(struct debuginfod_fetcher *fetcher, const void *build_id, size_t size)
{
	struct debuginfod_build_id id = { .size = size };
	struct debuginfod_wanted *wanted;
	int r = 0;

	if (size == 0 || size > WIRE_BUILD_ID_MAX)
		return -EINVAL;
	if (fetcher->fd < 0)
		return -ENOTCONN;
	memcpy(id.bytes, build_id, size);
	HASH_FIND(hh, fetcher->known, &id, sizeof(id), wanted);
	if (!wanted)
		r = add(fetcher, &id, &wanted);
	if (r < 0)
		return r;
	wanted->n_asked++;
	send_requests(fetcher);
	return 0;
}

static int finish(struct debuginfod_fetcher *fetcher, struct debuginfod_wanted *wanted,
		  enum debuginfod_outcome outcome, struct debuginfod_build_id *ret)
{
	wanted->state = FINISHED;
	fetcher->n_finished++;
	*ret = wanted->id;
	return outcome;
}

/* Fails one request that the process left unfinished. */
static int fail_one(struct debuginfod_fetcher *fetcher, struct debuginfod_build_id *ret)
{
	struct debuginfod_wanted *wanted, *next;

	if (!fetcher->n_queued)
		return 0;
	HASH_ITER(hh, fetcher->known, wanted, next)
	{
		if (wanted->state == FINISHED)
			continue;
		fetcher->n_queued--;
		return finish(fetcher, wanted, DEBUGINFOD_FAILED, ret);
	}
	return 0;
}

static int give_up(struct debuginfod_fetcher *fetcher, int error)
{
	close_process(fetcher);
	memset(fetcher->in_flight, 0, sizeof(fetcher->in_flight));
	fetcher->n_queued += fetcher->n_in_flight;
	fetcher->n_in_flight = 0;
	return error;
}

/*
 * 1: an answer; 0: none now; or -errno. A process that exits with unread requests resets the
 * connection; ECONNRESET is returned once, before its answers.
 */
static int receive(const struct debuginfod_fetcher *fetcher, struct debuginfod_answer *ret)
{
	ssize_t size;

	do {
		size = recv(fetcher->fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);
	} while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	if (size == sizeof(*ret))
		return 1;
	if (size < 0 && errno == EAGAIN)
		return 0;
	return size > 0 ? -EBADMSG : -EPIPE;
}

static bool is_sound(const struct debuginfod_fetcher *fetcher,
		     const struct debuginfod_answer *answer)
{
	return answer->number < DEBUGINFOD_IN_FLIGHT_MAX && fetcher->in_flight[answer->number] &&
	       answer->outcome >= DEBUGINFOD_ARRIVED && answer->outcome < N_DEBUGINFOD_OUTCOMES;
}

int debuginfod_fetcher_poll(struct debuginfod_fetcher *fetcher, struct debuginfod_build_id *ret)
{
	struct debuginfod_wanted *wanted;
	struct debuginfod_answer answer;
	int r;

	if (fetcher->fd < 0)
		return fail_one(fetcher, ret);
	if (!fetcher->n_in_flight && !fetcher->n_queued)
		return 0;
	r = receive(fetcher, &answer);
	if (r == 0)
		return 0;
	if (r > 0 && answer.outcome == DEBUGINFOD_NO_LIBRARY)
		r = -ENOPKG;
	else if (r > 0 && !is_sound(fetcher, &answer))
		r = -EBADMSG;
	if (r < 0)
		return give_up(fetcher, r);
	wanted = fetcher->in_flight[answer.number];
	fetcher->in_flight[answer.number] = NULL;
	fetcher->n_in_flight--;
	send_requests(fetcher);
	return finish(fetcher, wanted, answer.outcome, ret);
}

const char *debuginfod_fetcher_explain(int error)
{
	switch (error) {
	case -ENOPKG:
		return "could not load libdebuginfod.so.1: install libdebuginfod1";
	case -EBADMSG:
		return "the download process sent an invalid answer";
	case -EPIPE:
		return "the download process exited";
	default:
		return strerror(-error);
	}
}

const char *debuginfod_outcome_name(enum debuginfod_outcome outcome)
{
	static const char *const names[] = {
		[DEBUGINFOD_ARRIVED] = "arrived",	  [DEBUGINFOD_NOT_FOUND] = "not-found",
		[DEBUGINFOD_TOO_LARGE] = "too-large",	  [DEBUGINFOD_TIMEOUT] = "timeout",
		[DEBUGINFOD_UNREACHABLE] = "unreachable", [DEBUGINFOD_FAILED] = "failed",
	};

	return names[outcome];
}
