/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/heap-ring.h"
#include "preload-source/target/environment.h"

enum { TOKEN_DIGITS = 32 };

/* argc, argv, its zero, the environment: what the psABI has at the process's first stack pointer.
 */
extern void *__libc_stack_end __attribute__((weak));

static char **first(void)
{
	if (environ)
		return environ;
	return &__libc_stack_end && __libc_stack_end
		       ? (char **)__libc_stack_end + *(long *)__libc_stack_end + 2
		       : NULL;
}

static char *find(const char *name)
{
	char **variable = first();
	size_t size = strlen(name);

	for (; variable && *variable; variable++)
		if (!strncmp(*variable, name, size) && (*variable)[size] == '=')
			return *variable + size + 1;
	return NULL;
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
	const char *text = find(HEAP_ENVIRONMENT), *token = text ? strchr(text, ':') : NULL;
	const char *filters;

	if (!token || token == text || token - text >= ENVIRONMENT_ADDRESS_MAX ||
	    strlen(token + 1) < TOKEN_DIGITS)
		return false;
	memcpy(ret->address, text, token - text);
	ret->address[token - text] = 0;
	filters = token + 1 + TOKEN_DIGITS;
	ret->n_filters = *filters == ':' ? strtoul(filters + 1, NULL, 10) : 0;
	return parse_digits(token + 1, &ret->token[0]) &&
	       parse_digits(token + 1 + TOKEN_DIGITS / 2, &ret->token[1]);
}

/* Takes the variable at `at` away; the others move up. */
static void remove_variable(char **at)
{
	do {
		at[0] = at[1];
	} while (*at++);
}

/* Our library out of a list, in place; the list may be empty then. */
static void remove_library(char *list)
{
	char *item = list;

	while (*item) {
		size_t size = strcspn(item, ": ");
		const char *name = memrchr(item, '/', size);
		size_t behind = size + (item[size] != 0);

		name = name ? name + 1 : item;
		if ((size_t)(item + size - name) != strlen(HEAP_LIBRARY) ||
		    strncmp(name, HEAP_LIBRARY, strlen(HEAP_LIBRARY))) {
			item += behind;
			continue;
		}
		memmove(item, item + behind, strlen(item + behind) + 1);
		if (!*item && item > list) /* the ':' in front of it */
			item[-1] = 0;
	}
}

void environment_hide(void)
{
	char *preload = find("LD_PRELOAD");
	char **variable;

	if (preload)
		remove_library(preload);
	for (variable = first(); variable && *variable;) {
		bool is_ours =
			!strncmp(*variable, HEAP_ENVIRONMENT "=", strlen(HEAP_ENVIRONMENT) + 1);
		bool is_empty = !strcmp(*variable, "LD_PRELOAD=");

		if (is_ours || is_empty)
			remove_variable(variable);
		else
			variable++;
	}
}
