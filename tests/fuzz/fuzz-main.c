/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a fuzz target on each file of its corpus where libFuzzer is not available:
 *
 * fuzz-TARGET DIRECTORY-OR-FILE...
 */
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "tests/fuzz/fuzz.h"

static size_t n_inputs; /* ftw(3) passes no user argument */

static int replay(const char *path, const struct stat *status, int type)
{
	_cleanup_file_ FILE *file = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t size = status->st_size;

	if (type == FTW_D)
		return 0;
	if (type == FTW_F)
		file = fopen(path, "re");
	bytes = malloc(size); /* exact size, like libFuzzer */
	if (!file || !bytes || fread(bytes, 1, size, file) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return -1;
	}
	fprintf(stderr, "%s\n", path); /* the last line names the input that crashed */
	LLVMFuzzerTestOneInput(bytes, size);
	n_inputs++;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (ftw(argv[i], replay, 16) != 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			return EXIT_FAILURE;
		}
	fprintf(stderr, "%zu inputs\n", n_inputs); /* a target may redirect stdout */
	return n_inputs ? EXIT_SUCCESS : EXIT_FAILURE;
}
