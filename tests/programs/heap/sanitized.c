/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints what it was started with, and allocates; test_sanitizers.py builds it with a sanitizer.
 * With "overflow" it has a fault for the sanitizer to find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

enum { STATUS = 7, SIZE = 7002 };

int main(int argc, char **argv)
{
	const char *preloaded = getenv("LD_PRELOAD");
	char name[16] = "", *volatile block = malloc(SIZE);

	prctl(PR_GET_NAME, name);
	printf("%s %s %s %s", name, argv[0], argc > 1 ? argv[1] : "",
	       (const char *)getauxval(AT_EXECFN));
	printf(" %s %s\n", preloaded ? preloaded : "-", getenv("STACKPIPE_HEAP") ? "traced" : "-");
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "overflow"))
		block[SIZE] = 1;
	free(block);
	return STATUS;
}
