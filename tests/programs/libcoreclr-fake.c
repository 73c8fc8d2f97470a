/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Has what the runtime of .NET exports, and takes some time: libcoreclr.fake CPU-SECONDS */
#include <stdlib.h>
#include <time.h>

__attribute__((visibility("default"), used)) int coreclr_initialize(void);

int coreclr_initialize(void)
{
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec + now.tv_nsec / 1e9 < seconds);
	return coreclr_initialize();
}
