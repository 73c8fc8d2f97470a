/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exceptions in flight: who throws is unwound, while he is, by the C++ runtime.
 *
 * truth: compiler g++
 * truth: chain START main (catcher|catcher.cold) dive{5} (dive|dive.cold) RUNTIME+         # __cxa_throw and what it calls
 * truth: chain START main (catcher|catcher.cold) dive{3} (dive|dive.cold) "cleaner::~cleaner()" WORK
 * truth: chain START main (catcher|catcher.cold) WORK                            # in the catch clause
 * truth: aside START main (catcher|catcher.cold) dive{0,5} (dive|dive.cold) RUNTIME+              # goes on: _Unwind_Resume
 * truth: aside START main (catcher|catcher.cold) RUNTIME+
 * truth: ends bad-unwind-info at GCC_S # it installs a handler, and overwrites its own return address
 */
extern "C" {
#include "truth.h"
}

#define CXX_LINK extern "C" __attribute__((noipa))

struct cleaner {
	__attribute__((noipa)) ~cleaner()
	{
		spin();
		STAY();
	}
};

CXX_LINK void dive(int depth)
{
	char room[40];

	KEEP(room);
	if (depth == 3) {
		cleaner cleaner;

		dive(depth - 1);
	} else if (depth > 1) {
		dive(depth - 1);
	} else {
		throw depth;
	}
	STAY();
}

CXX_LINK void catcher(void)
{
	for (int i = 0; i < 20; i++)
		try {
			dive(6);
		} catch (int) {
			if (i == 0)
				spin();
		}
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv) / 20 + 1; rounds; rounds--)
		catcher();
	return 0;
}
