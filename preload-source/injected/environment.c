/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "preload-source/injected/environment.h"
#include "preload-source/injected/text.h"
#include "preload-source/shared/heap-ring.h"

enum { TOKEN_DIGITS = 32 };

/* At the process's first stack pointer: argc, argv, NULL, the environment (psABI). */
extern void *__libc_stack_end __attribute__((weak));

char **environment_arguments(void)
{
	return &__libc_stack_end && __libc_stack_end ? (char **)__libc_stack_end + 1 : NULL;
}

char **environment_variables(void)
{
	char **arguments = environment_arguments();

	if (environ)
		return environ;
	return arguments ? arguments + *(long *)__libc_stack_end + 1 : NULL;
}

/* The value of a variable, whose name includes '=' here; NULL: not set. */
static char *find(const char *name)
{
	char **variable = environment_variables();
	const char *value = NULL;

	for (; variable && *variable && !value; variable++)
		value = text_behind(*variable, name);
	return (char *)value;
}

static bool parse_digits(const char *text, uint64_t *ret)
{
	*ret = 0;
	for (int i = 0; i < TOKEN_DIGITS / 2; i++) {
		char digit = text[i];

		if (digit >= '0' && digit <= '9')
			*ret = *ret << 4 | (digit - '0');
		else if (digit >= 'a' && digit <= 'f')
			*ret = *ret << 4 | (digit - 'a' + 10);
		else
			return false;
	}
	return true;
}

bool environment_read(struct environment *ret)
{
	const char *text = find(HEAP_ENVIRONMENT "=");
	size_t size = 0;

	if (!text)
		return false;
	for (; *text && *text != ':' && size < ENVIRONMENT_ADDRESS_MAX - 1; text++)
		ret->address[size++] = *text;
	ret->address[size] = 0;
	if (!size || *text++ != ':' || !parse_digits(text, &ret->token[0]))
		return false;
	text += TOKEN_DIGITS / 2;
	if (!parse_digits(text, &ret->token[1]))
		return false;
	text += TOKEN_DIGITS / 2;
	ret->n_filters = *text == ':' ? text_number(text + 1) : 0;
	return true;
}

/* Removes the variable at `at`; those after it move up. */
static void remove_variable(char **at)
{
	do {
		at[0] = at[1];
	} while (*at++);
}

/* Whether an item of a list, up to `end`, is our library, in any directory. */
static bool is_library(const char *item, const char *end)
{
	const char *name = item;

	for (; item < end; item++)
		if (*item == '/')
			name = item + 1;
	return text_behind(name, HEAP_LIBRARY) == end;
}

/* Removes our library from a list in place, which may become empty. false: it is not in it. */
static bool remove_library(char *list)
{
	char *kept = list, *item = list;
	bool is_removed = false;

	while (*item) {
		char *end = item;

		while (*end && *end != ':' && *end != ' ')
			end++;
		if (is_library(item, end)) {
			is_removed = true;
			item = end + (*end != 0);
			continue;
		}
		while (item < end)
			*kept++ = *item++;
		if (*item)
			*kept++ = *item++;
	}
	if (is_removed && kept > list && (kept[-1] == ':' || kept[-1] == ' '))
		kept--; /* the separator before our library */
	*kept = 0;
	return is_removed;
}

bool environment_hide(void)
{
	char *preload = find("LD_PRELOAD=");
	bool is_removed = preload && remove_library(preload);
	char **variable;

	for (variable = environment_variables(); variable && *variable;) {
		const char *list = text_behind(*variable, "LD_PRELOAD=");

		if (text_behind(*variable, HEAP_ENVIRONMENT "=") || (list && !*list))
			remove_variable(variable);
		else
			variable++;
	}
	return is_removed;
}
