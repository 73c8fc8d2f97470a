/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls and jumps through registers, compiled with thunks against speculation. */
#define LINK __attribute__((noinline))

enum { TURNS = 200 };

typedef long function(long n);

static volatile long sink;

static LINK long leaf(long n)
{
	sink += n;
	return n + 1;
}

/* Keeps values across calls. */
static LINK long caller(long n, function *volatile *called)
{
	long sum = (*called)(n);

	sum += (*called)(n + sum);
	return sum + n;
}

static LINK long tail(long n, function *called)
{
	return called(n + 1);
}

int main(void)
{
	function *volatile called = leaf;
	long sum = 0;

	for (long i = 0; i < TURNS; i++) {
		sum += caller(i, &called);
		sum += tail(i, called);
	}
	return sum == 0;
}
