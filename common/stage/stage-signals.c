/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals only set flags here; system calls are not restarted, so that every wait comes back to
 * look at the flags. One that slips in between the look and the wait is caught by the alarm that
 * goes on ringing.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/stage/stage-internal.h"

static volatile sig_atomic_t n_requests;
static volatile sig_atomic_t is_passed_on; /* one was, by the front-end */
static volatile sig_atomic_t out_of_patience;

/*
 * What the front-end passes on (by sigqueue(3)) is what it was sent itself, and may have come here
 * as well, before or behind it: it is the first request, and never the second.
 */
static void on_request(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (!stage_should_stop())
		alarm(STAGE_PATIENCE_S);
	if (info->si_code == SI_QUEUE)
		is_passed_on = 1;
	else if (n_requests++)
		out_of_patience = 1;
}

static void on_alarm(int signal)
{
	(void)signal;
	out_of_patience = 1;
	alarm(1);
}

/* A file that we have mapped was cut by somebody; there is no way back to where it was read. */
static void on_cut_file(int signal)
{
	static const char line[] = ": error: a file was truncated while it was read\n";

	if (write(STDERR_FILENO, program_invocation_short_name,
		  strlen(program_invocation_short_name)) < 0 ||
	    write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		_exit(STAGE_EXIT_FAILED);
	_exit(STAGE_EXIT_FAILED);
}

static void catch_signal(int signal, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

static void catch_requests(int signal)
{
	struct sigaction action = { .sa_sigaction = on_request, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

void stage_catch_signals(void)
{
	catch_requests(SIGINT);
	catch_requests(SIGTERM);
	catch_signal(SIGALRM, on_alarm);
	catch_signal(SIGBUS, on_cut_file);
	catch_signal(SIGPIPE, SIG_IGN); /* a write says it too */
	catch_signal(SIGXFSZ, SIG_IGN);
}

bool stage_should_stop(void)
{
	return n_requests > 0 || is_passed_on;
}

bool stage_must_stop(void)
{
	return out_of_patience;
}
