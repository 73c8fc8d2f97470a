/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the variable of OTEP 4947 from a library that is loaded while the program runs. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct thread_context;

typedef struct thread_context *volatile *variable_function(void);

variable_function spans_variable;

static variable_function *function;

/* Before main() publishes anything. */
__attribute__((constructor)) static void load(void)
{
	void *library = dlopen(getenv("SPANS_LIBRARY"), RTLD_NOW);

	function = library ? (variable_function *)dlsym(library, "spans_variable") : NULL;
	if (function)
		return;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

struct thread_context *volatile *spans_variable(void)
{
	return function();
}
