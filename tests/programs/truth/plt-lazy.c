/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls a function for the first time, again and again: its GOT entry is reset. The stub pushes,
 * jumps to the PLT's head, which pushes and jumps to the loader. Some more calls find it resolved:
 * otherwise only one sample in 200 would be in the stub.
 *
 * truth: chain START main outer tiny
 * truth: chain START main outer LD+
 * truth: chain START main outer tiny@plt
 * truth: ends stack-truncated at (_dl_runtime_resolve…|[ld-linux-x86-64.so.2])  # CFA: rbx
 * truth: aside START main outer [plt-lazy]        # the head of the PLT has no name
 */
#include "truth.h"

enum { GOT_OF_TINY = 3 }; /* after the loader's entries: this file's only function */

extern void *_GLOBAL_OFFSET_TABLE_[];
void tiny(void);

static LINK void outer(void)
{
	void *unresolved = _GLOBAL_OFFSET_TABLE_[GOT_OF_TINY];

	for (int i = 0; i < 100; i++) {
		for (int n_calls = 0; n_calls < 10; n_calls++)
			tiny();
		*(void *volatile *)&_GLOBAL_OFFSET_TABLE_[GOT_OF_TINY] = unresolved;
	}
}

static long number(const char *text)
{
	long value = 0;

	while (text && *text)
		value = value * 10 + *text++ - '0';
	return value;
}

int main(int argc, char **argv)
{
	for (long rounds = number(argv[1]); rounds; rounds--)
		outer();
	return 0;
}
