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

#include "common/stage-internal.h"

static volatile sig_atomic_t n_requests;
static volatile sig_atomic_t out_of_patience;

static void on_request(int signal)
{
	(void)signal;
	if (n_requests++ == 0)
		alarm(STAGE_PATIENCE_S);
	else
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
	static const char line[] = ": error: a file was cut while it was read\n";

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

void stage_catch_signals(void)
{
	catch_signal(SIGINT, on_request);
	catch_signal(SIGTERM, on_request);
	catch_signal(SIGALRM, on_alarm);
	catch_signal(SIGBUS, on_cut_file);
	catch_signal(SIGPIPE, SIG_IGN); /* a write says it too */
	catch_signal(SIGXFSZ, SIG_IGN);
}

bool stage_should_stop(void)
{
	return n_requests > 0;
}

bool stage_must_stop(void)
{
	return out_of_patience;
}
