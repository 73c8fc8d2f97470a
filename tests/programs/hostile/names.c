/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives itself names that affect a terminal, a page or a line: names SECONDS */
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int main(int argc, char **argv)
{
	static const char *const names[] = {
		"\033[2J\033[31mred",
		"two\nlines 5",
		"semi;colon 7",
		"\xff\xfe\x80 bytes",
		"<script>x",
		"</script><b>",
		"\"],[0,\"",
		"\033]0;title\a",
		"\xe2\x80\xae"
		"desrever",
		"\r\rback",
		"\\u0000%s%n",
		"${HOME}`id`",
	};
	clock_t end = argc == 2 ? atof(argv[1]) * CLOCKS_PER_SEC : 0;
	volatile unsigned long sink = 0;

	for (unsigned int i = 0; clock() < end; i++) {
		prctl(PR_SET_NAME, names[i % (sizeof(names) / sizeof(*names))]);
		for (unsigned long k = 0; k < 20000000; k++)
			sink += k;
	}
	return 0;
}
