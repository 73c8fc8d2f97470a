/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The second unit of inlines.cc. */
#include <map>

#include "inlines.h"

namespace
{
int local(int value)
{
	return twice(value) + 1;
}
}

int other_unit(int n)
{
	adder<3> numbers(n);
	std::map<int, std::string> texts;

	for (int value : numbers.list)
		texts[value] = describe(local(value));
	return numbers.each([&](int value) { return local(value) + texts[value].size(); });
}
