/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A static program has a PLT for the functions that have several versions (IFUNC).
 *
 * truth: builds plt-static plt-static-lld plt-static-mold plt-static-gold
 * truth: chain START main outer (versions@plt|versions) # newer molds give the stub the name itself
 * truth: chain START main outer only_version
 */
#include "truth.h"

static LINK int only_version(void)
{
	STAY();
	return 1;
}

static int (*choose(void))(void)
{
	return only_version;
}

int versions(void) __attribute__((ifunc("choose")));

static LINK void outer(void)
{
	for (int i = 0; i < 10000; i++)
		versions();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
