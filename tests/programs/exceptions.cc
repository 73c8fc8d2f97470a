/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throws through up to thirty frames, each with something to clean up, for so many seconds. */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>

struct cleaner {
	std::string text;
	~cleaner()
	{
		if (text.size() > 100)
			puts("long");
	}
};

__attribute__((noinline)) static int dive(int depth)
{
	cleaner cleaner{ std::to_string(depth) };

	if (depth <= 0)
		throw std::runtime_error("the bottom");
	return dive(depth - 1) + cleaner.text.size();
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	long sum = 0;

	while (time(NULL) < end)
		for (int i = 0; i < 100; i++)
			try {
				sum += dive(i % 30);
			} catch (const std::exception &error) {
				sum += error.what()[0];
			}
	printf("%ld\n", sum);
}
