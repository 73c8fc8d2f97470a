/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by both units of inlines.cc: the linker keeps one copy of each definition. */
#pragma once

#include <string>
#include <vector>

template <int N> struct adder {
	std::vector<int> list;
	explicit adder(int n)
	{
		for (int i = 0; i < n; i++)
			list.push_back(i * N);
	}
	template <typename Function> int each(Function function) const
	{
		int sum = 0;

		for (int value : list)
			sum += function(value);
		return sum;
	}
};

inline int twice(int value)
{
	return value + value;
}

inline std::string describe(int value)
{
	return "value " + std::to_string(twice(value));
}

int other_unit(int n);
