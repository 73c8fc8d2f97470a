/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps a C++ compiler busy for some seconds: what is recorded is cc1plus. */
#include <map>
#include <regex>
#include <string>

template <int N> struct step {
	static std::map<int, std::string> texts;
	static int run()
	{
		texts[N] = "x";
		std::regex expression("a+b*");
		return step<N - 1>::run() + texts.size();
	}
};
template <int N> std::map<int, std::string> step<N>::texts;
template <> struct step<0> {
	static int run()
	{
		return 0;
	}
};

int main()
{
	return step<STEPS>::run();
}
