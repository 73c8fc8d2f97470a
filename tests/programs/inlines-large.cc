/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One unit of a large C++ program (tests/bench/inlines.py compiles it with UNIT = 0, 1, …): what the
 * standard library's templates become with types of the unit's own, inlined into each other.
 */
#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace
{
template <int N> struct item {
	int value;
	std::string text;
	bool operator<(const item &other) const
	{
		return value < other.value || (value == other.value && text < other.text);
	}
	bool operator==(const item &other) const
	{
		return value == other.value && text == other.text;
	}
};

template <int N> struct hash {
	size_t operator()(const item<N> &it) const
	{
		return std::hash<std::string>()(it.text) ^ it.value;
	}
};

template <int N> int containers(int n)
{
	std::map<item<N>, std::vector<item<N>>> map;
	std::unordered_map<item<N>, std::set<item<N>>, hash<N>> sets;
	std::deque<std::shared_ptr<item<N>>> queue;

	for (int i = 0; i < n; i++) {
		item<N> it{ i, std::to_string(i * N) };
		map[it].push_back(it);
		sets[it].insert(it);
		queue.push_back(std::make_shared<item<N>>(it));
	}
	std::sort(queue.begin(), queue.end(),
		  [](const auto &left, const auto &right) { return *left < *right; });
	std::vector<item<N>> all;
	for (auto &[key, list] : map)
		std::copy_if(list.begin(), list.end(), std::back_inserter(all),
			     [&](const auto &it) { return it.value % 3 || it == key; });
	std::stable_sort(all.begin(), all.end());
	all.erase(std::unique(all.begin(), all.end()), all.end());
	return std::accumulate(all.begin(), all.end(), 0,
			       [](int sum, const auto &it) { return sum + it.value; }) +
	       sets.size() + queue.size();
}

template <int N> int texts(const std::string &text)
{
	std::regex expression("(a+)|([b-z]*" + std::to_string(N) + ")");
	std::variant<int, std::string, item<N>> choice = item<N>{ N, text };
	std::function<int(const std::string &)> matches = [&](const std::string &line) {
		std::smatch match;
		return std::regex_search(line, match, expression) ? int(match.position()) : N;
	};
	std::ostringstream out;

	out << std::visit([](const auto &it) { return int(sizeof(it)); }, choice) << text << N;
	return matches(out.str());
}
}

#define NAME_(unit) run##unit
#define NAME(unit) NAME_(unit)

int NAME(UNIT)(int n)
{
	int sum = texts<UNIT>("text");

	sum += containers<4 * UNIT>(n) + containers<4 * UNIT + 1>(n);
	sum += containers<4 * UNIT + 2>(n) + containers<4 * UNIT + 3>(n);
	return sum;
}

#if UNIT == 0
int main(int argc, char **)
{
	std::cout << NAME(UNIT)(argc) << '\n';
}
#endif
