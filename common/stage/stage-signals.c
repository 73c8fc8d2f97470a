/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals only set flags; system calls are not restarted, so that every wait returns and the flags
 * are checked. A signal between check and wait is caught by the alarm, which repeats.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/stage/stage-internal.h"

static volatile sig_atomic_t n_requests;
static volatile sig_atomic_t is_passed_on; /* the front-end passed on a request */
static volatile sig_atomic_t out_of_patience;

/*
 * The front-end passes on (by sigqueue(3)) a signal that it got itself, and which may also have
 * come here, before or after: it counts as the first request, never as the second.
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

/* Another process truncated a file that we have mapped; the access cannot be resumed. */
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
	catch_signal(SIGPIPE, SIG_IGN); /* write(2) fails with EPIPE, too */
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
