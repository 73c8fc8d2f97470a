/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls a tiny function through its PLT stub, once it is resolved.
 *
 * truth: builds plt plt-lld plt-mold plt-gold
 * truth: chain START main outer tiny
 * truth: chain START main outer tiny@plt
 * truth: aside START main outer tiny@plt? LD+     # the first call
 */
#include "truth.h"

void tiny(void);

static LINK void outer(void)
{
	for (int i = 0; i < 10000; i++)
		tiny();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
