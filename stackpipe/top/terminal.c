/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks the terminal before drawing; a file of its own, as <term.h> has macros for common words.
 */
#include <curses.h>
#include <stdlib.h>
#include <term.h>

#include "stackpipe/top/terminal.h"

bool terminal_is_there(void)
{
	FILE *file = fopen("/dev/tty", "r+e");
	int unknown;

	if (!file) {
		fputs("stackpipe top: error: the live view needs a terminal\n", stderr);
		return false;
	}
	if (setupterm(NULL, fileno(file), &unknown) == OK) {
		fclose(file);
		return true;
	}
	fclose(file);
	fprintf(stderr, "stackpipe top: error: unknown terminal type '%s': set TERM\n",
		getenv("TERM") ? getenv("TERM") : "");
	return false;
}
