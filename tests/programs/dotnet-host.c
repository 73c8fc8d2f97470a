/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a program of .NET by a runtime in a directory (docs.microsoft.com: "Write a custom .NET
 * runtime host"): dotnet-host DIRECTORY PROGRAM ARGUMENTS...
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASSEMBLIES_MAX = 1 << 20 };

typedef int initialize(const char *path, const char *domain, int n, const char **keys,
		       const char **values, void **ret_host, unsigned int *ret_domain);
typedef int execute(void *host, unsigned int domain, int argc, const char **argv,
		    const char *program, unsigned int *ret_status);

/* The assemblies of a directory, with colons between. */
static char *list_assemblies(const char *directory)
{
	char *list = calloc(1, ASSEMBLIES_MAX), *end = list;
	DIR *files = opendir(directory);
	struct dirent *entry;

	while (list && files && (entry = readdir(files))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && !strcmp(dot, ".dll"))
			end += snprintf(end, list + ASSEMBLIES_MAX - end, "%s/%s:", directory,
					entry->d_name);
		if (list + ASSEMBLIES_MAX - end < 2 * FILENAME_MAX)
			break;
	}
	return list;
}

int main(int argc, char **argv)
{
	/* A bare system has no ICU, whose locales no program here needs. */
	const char *keys[] = { "TRUSTED_PLATFORM_ASSEMBLIES", "NATIVE_DLL_SEARCH_DIRECTORIES",
			       "System.Globalization.Invariant" };
	const char *values[] = { NULL, NULL, "true" };
	char path[FILENAME_MAX];
	unsigned int domain, status;
	execute *run;
	initialize *begin;
	void *library, *host;

	if (argc < 3)
		return 2;
	snprintf(path, sizeof(path), "%s/libcoreclr.so", argv[1]);
	library = dlopen(path, RTLD_NOW);
	begin = library ? (initialize *)dlsym(library, "coreclr_initialize") : NULL;
	run = library ? (execute *)dlsym(library, "coreclr_execute_assembly") : NULL;
	values[0] = list_assemblies(argv[1]);
	values[1] = argv[1];
	if (!begin || !run || !values[0] ||
	    begin(argv[0], "host", 3, keys, values, &host, &domain) < 0 ||
	    run(host, domain, argc - 3, (const char **)argv + 3, argv[2], &status) < 0) {
		fprintf(stderr, "dotnet-host: cannot run '%s': %s\n", argv[2],
			library ? "it fails" : dlerror());
		return 1;
	}
	return status;
}
