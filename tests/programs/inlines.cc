/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of every kind that compilers inline into each other: templates, lambdas, methods of local
 * classes, functions without linkage names, copies shared with another unit. It is looked at, and
 * need not be run.
 */
#include <algorithm>
#include <cstdio>

#include "inlines.h"

extern "C" int plain(int value)
{
	return twice(value) * 5;
}

static inline int innermost(int value)
{
	return value % 7 ? value * 3 : value / 5;
}

namespace outer
{
namespace
{
inline int middle(int value)
{
	return innermost(value) + innermost(value + 1);
}
}

struct base {
	virtual ~base() = default;
	virtual int run(int value) const = 0;
};

struct derived : base {
	std::string text;
	explicit derived(int value) : text(describe(value)) {}
	int run(int value) const override
	{
		return middle(value) + text.size();
	}
};
}

template <int N> int repeat(int value)
{
	return outer::middle(value) + repeat<N - 1>(value + N);
}

template <> int repeat<0>(int value)
{
	return value;
}

static int with_local_class(int n)
{
	struct local_class {
		int factor;
		int scale(int value) const
		{
			return innermost(value) * factor;
		}
	} instance{ n };
	std::vector<std::string> texts;

	for (int i = 0; i < n; i++)
		texts.push_back(describe(instance.scale(i)));
	std::sort(texts.begin(), texts.end(), [](const std::string &left, const std::string &right) {
		return left.size() != right.size() ? left.size() < right.size() : left < right;
	});
	return texts.empty() ? 0 : texts.front().size();
}

int main(int argc, char **argv)
{
	adder<2> two(argc);
	adder<5> five(argc);
	outer::derived object(argc);
	int sum = two.each([&](int value) { return five.each(innermost) + value; });

	try {
		sum += repeat<6>(argc) + with_local_class(argc) + other_unit(argc);
		sum += object.run(plain(argc));
	} catch (const std::exception &error) {
		std::puts(error.what());
	}
	std::printf("%d\n", sum);
}
