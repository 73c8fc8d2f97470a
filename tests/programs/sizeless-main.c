/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spins in the library built from sizeless.c. */
#include <time.h>

enum { TURNS = 1000000 };

long enter_described(long n);
long enter_bare(long n);

int main(void)
{
	time_t end = time(NULL) + 2;

	while (time(NULL) < end) {
		enter_described(TURNS);
		enter_bare(TURNS);
	}
	return 0;
}
