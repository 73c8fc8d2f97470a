/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * AddressSanitizer aborts a program in which another library comes first ("ASan runtime does not
 * come first in initial library list"), ThreadSanitizer crashes. The dynamic linker cannot unload a
 * preloaded library, so the program is executed once more without us, before any of its code has
 * run: this library's constructor is the first one (-z initfirst, meson.build). That covers all
 * ways of execution without a hook of exec(3), which a program may call in a child of vfork(2).
 *
 * No function may be called here that sanitizers intercept, as they are not initialized: system
 * calls are made directly.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "preload-source/injected/command-line.h"
#include "preload-source/injected/connection.h"
#include "preload-source/injected/environment.h"
#include "preload-source/injected/filtered.h"
#include "preload-source/injected/sanitizer.h"
#include "preload-source/injected/system-call.h"

#define OWN_FILE "/proc/self/exe"

/* What instrumented code calls first; each runtime has its own. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

bool sanitizer_is_here(void)
{
	return __asan_init || __hwasan_init || __lsan_init || __msan_init || __tsan_init;
}

/* An entry of the auxiliary vector (getauxval(3)); 0: none. */
static uint64_t find_auxiliary(char **variables, uint64_t type)
{
	const Elf64_auxv_t *entry;

	while (*variables)
		variables++;
	for (entry = (const void *)(variables + 1); entry->a_type != AT_NULL; entry++)
		if (entry->a_type == type)
			return entry->a_un.a_val;
	return 0;
}

static bool is_own_file(const char *path)
{
	struct stat named, own;

	return system_call(SYS_newfstatat, AT_FDCWD, path, &named, 0) == 0 &&
	       system_call(SYS_newfstatat, AT_FDCWD, OWN_FILE, &own, 0) == 0 &&
	       named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

/*
 * The name by which the program was executed, after which the kernel names the process, or else the
 * name of its file: a script's interpreter has the script's name, fexecve(3) gives none.
 */
static const char *find_file(const char *executed, char room[static PATH_MAX])
{
	long size;

	if (executed && is_own_file(executed))
		return executed;
	size = system_call(SYS_readlinkat, AT_FDCWD, OWN_FILE, room, PATH_MAX - 1);
	room[size > 0 ? size : 0] = 0;
	return is_own_file(room) ? room : OWN_FILE;
}

static const char *name_of_file(char **variables)
{
	return (const char *)find_auxiliary(variables, AT_EXECFN);
}

static void execute_again(void)
{
	static struct environment environment;
	char room[PATH_MAX], **variables = environment_variables(), **arguments;
	const char *file = OWN_FILE;
	bool is_by_hand; /* the dynamic linker was executed as a command */

	if (!variables)
		return;
	is_by_hand = !find_auxiliary(variables, AT_BASE);
	arguments = is_by_hand ? command_line_find() : environment_arguments();
	if (!arguments)
		return;
	/* An inherited filter has allowed execve(2); whether it allows more is unknown. */
	if (environment_read(&environment) && !filtered_from_before(environment.n_filters)) {
		file = find_file(is_by_hand ? arguments[0] : name_of_file(variables), room);
		connection_send_sanitizer(&environment);
	}
	if (environment_hide())
		system_call(SYS_execve, file, arguments, variables);
}

void sanitizer_step_aside(void)
{
	static bool has_tried;

	if (has_tried || !sanitizer_is_here())
		return;
	has_tried = true;
	execute_again();
}
