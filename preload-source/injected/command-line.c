/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "preload-source/injected/command-line.h"
#include "preload-source/injected/system-call.h"
#include "preload-source/injected/text.h"

enum {
	STAT_SIZE = 4096,
	STATE = 3,	/* fields of /proc/PID/stat (proc(5)): the first after the name, */
	ARG_START = 48, /* and where the arguments' strings are, one after the other */
	ARG_END = 49,
};

struct texts {
	char *start, *end;
};

/* The value of a field, of text that begins after the name; 0: there are fewer. */
static uint64_t find_value(const char *stat, int number)
{
	for (int i = STATE; i < number; stat++) {
		if (!*stat)
			return 0;
		i += *stat == ' ';
	}
	return text_number(stat);
}

/* The name may contain anything, so the last ") " ends it. */
static const char *behind_name(const char *stat)
{
	const char *behind = stat;

	for (; *stat; stat++)
		if (stat[0] == ')' && stat[1] == ' ')
			behind = stat + 2;
	return behind;
}

static struct texts find_texts(void)
{
	char stat[STAT_SIZE];
	const char *values;
	long size, fd = system_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return (struct texts){ 0 };
	size = system_call(SYS_read, fd, stat, sizeof(stat) - 1);
	system_call(SYS_close, fd);
	stat[size > 0 ? size : 0] = 0;
	values = behind_name(stat);
	return (struct texts){ (char *)find_value(values, ARG_START),
			       (char *)find_value(values, ARG_END) };
}

/* Lists the strings that there is room for. Returns how many there are. */
static uint64_t list_texts(const struct texts *texts, char **list, uint64_t room)
{
	uint64_t n = 0;

	for (char *text = texts->start; text < texts->end; n++) {
		if (n < room)
			list[n] = text;
		while (text < texts->end && *text)
			text++;
		text++;
	}
	return n;
}

char **command_line_find(void)
{
	struct texts texts = find_texts();
	uint64_t n = list_texts(&texts, NULL, 0);
	long list;

	if (!n)
		return NULL;
	list = system_call(SYS_mmap, NULL, (n + 1) * sizeof(char *), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (list < 0 && list > -4096)
		return NULL;
	list_texts(&texts, (char **)list, n); /* the NULL after them is there: new memory is zero */
	return (char **)list;
}
