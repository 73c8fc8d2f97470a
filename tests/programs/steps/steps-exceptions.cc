/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throws through functions that have something to clean up, past one that catches others. */
#include <stdexcept>

static volatile int sink;

struct cleaner {
	~cleaner()
	{
		sink = sink + 1;
	}
};

__attribute__((noinline)) static int dive(int depth)
{
	cleaner at_the_end;

	if (depth == 0)
		throw std::runtime_error("the bottom");
	return dive(depth - 1) + sink;
}

__attribute__((noinline)) static int pass_by(int depth)
{
	try {
		return dive(depth);
	} catch (const std::bad_alloc &error) {
		return 0;
	}
}

int main()
{
	for (int i = 0; i < 2; i++)
		try {
			sink = sink + pass_by(i + 1);
		} catch (const std::exception &error) {
			sink = sink + error.what()[0];
		}
	return 0;
}
