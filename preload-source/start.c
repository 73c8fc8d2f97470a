/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Set-up of preload-source: the listener, shared memory, the command, and the sandbox. */
#include <errno.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/base/clock.h"
#include "common/base/descriptor-limit.h"
#include "common/stage/sandbox.h"
#include "preload-source/preload-source.h"

enum { MEMORY_MAX = 1 << 30 }; /* bytes of data */

/* The library is beside this program (in a build directory), or where it was installed. */
static int find_library(struct stage *stage, char ret[static PATH_MAX])
{
	char *end;
	ssize_t size = readlink("/proc/self/exe", ret, PATH_MAX - sizeof(HEAP_LIBRARY) - 1);

	if (size > 0) {
		ret[size] = 0;
		end = strrchr(ret, '/');
		strcpy(end + 1, HEAP_LIBRARY);
		if (access(ret, R_OK) == 0)
			return 0;
	}
	snprintf(ret, PATH_MAX, "%s/%s", HEAP_LIBRARY_DIR, HEAP_LIBRARY);
	if (access(ret, R_OK) == 0)
		return 0;
	stage_error(stage, "'%s' is missing: reinstall stackpipe", ret);
	return -ECANCELED;
}

/* LD_PRELOAD is split at both characters (ld.so(8)). */
static int check_library(struct stage *stage, const char *path)
{
	if (!strpbrk(path, ": "))
		return 0;
	stage_error(stage, "'%s' cannot be preloaded: its path contains a space or ':'", path);
	return -ECANCELED;
}

/* Our library comes first, so that it calls an allocator that the user preloads. */
static void preload(const char *library, char *ret, size_t size)
{
	const char *others = getenv("LD_PRELOAD");

	snprintf(ret, size, "LD_PRELOAD=%s%s%s", library, others && *others ? ":" : "",
		 others ? others : "");
}

static int prepare_command(struct stage *stage, struct preload_source *self)
{
	char library[PATH_MAX], address[LISTENER_ENVIRONMENT_SIZE];
	const char *others = getenv("LD_PRELOAD");
	size_t size = PATH_MAX + (others ? strlen(others) : 0) + 32;
	char *environment[] = { malloc(size), address, NULL };
	int r = environment[0] ? find_library(stage, library) : -ENOMEM;

	if (r == 0)
		r = check_library(stage, library);
	if (r == 0) {
		preload(library, environment[0], size);
		listener_environment(&self->listener, address);
		r = command_prepare(&self->command, self->options.command, environment,
				    stage->command_output_fd);
	}
	free(environment[0]);
	return r;
}

static void fill_hello(const struct preload_source *self, struct wire_hello *hello)
{
	hello->clock = WIRE_clock_MONOTONIC;
	hello->start_time = self->start_time;
	hello->start_unix_time = clock_now(CLOCK_REALTIME);
	hello->register_mask = arch_host()->register_mask;
	hello->machine = arch_host()->elf_machine;
	hello->n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	hello->token_high = self->server.token_high;
	hello->token_low = self->server.token_low;
	snprintf(hello->image_server, sizeof(hello->image_server), "%s", self->server.address);
	snprintf(hello->event, sizeof(hello->event), "allocations");
	if (gethostname(hello->host, sizeof(hello->host) - 1) < 0)
		hello->host[0] = 0;
}

int preload_source_open(struct stage *stage, void *data)
{
	struct preload_source *self = data;
	int r = image_server_start(&self->server);

	if (r == 0)
		r = process_opener_start(&self->opener);
	if (r < 0)
		return r;
	images_init(&self->images, stage, self->server.fd);
	processes_init(&self->processes, stage, &self->images);
	self->processes.proc = proc_view_opened;
	self->processes.proc.find_maps = preload_source_find_maps;
	self->processes.proc.arg = self;
	target_open(&self->target, self->options.command[0]);
	r = shared_tables_init(&self->shared, stage, &self->images);
	if (r == 0)
		r = heap_encoder_init(&self->encoder, stage, &self->processes);
	if (r == 0)
		r = listener_open(&self->listener);
	if (r == 0)
		r = doorbell_make(&self->doorbell);
	if (r == 0)
		r = prepare_command(stage, self);
	descriptor_limit_raise(); /* after the command was forked: it keeps the old limit */
	if (r < 0)
		return r;
	self->start_time = clock_now(CLOCK_MONOTONIC);
	fill_hello(self, &stage->hello);
	return 0;
}

void preload_source_describe_sandbox(const void *data, struct sandbox *sandbox)
{
	const struct preload_source *self = data;

	stage_sandbox_allow_images(sandbox);
	stage_sandbox_allow_thread(sandbox);
	SANDBOX_ALLOW(sandbox, SCMP_SYS(accept4), SCMP_SYS(memfd_create), SCMP_SYS(ftruncate),
		      SCMP_SYS(openat), SCMP_SYS(fstatfs), SCMP_SYS(ioctl), SCMP_SYS(wait4));
	sandbox_allow_signals(sandbox, self->command.pid);
	/* Names of threads, and the files of host-files.h. */
	sandbox_allow_path(sandbox, "/proc", SANDBOX_READ);
	sandbox_allow_path(sandbox, "/etc/os-release", SANDBOX_READ);
	if (self->shared.cache.dir_fd >= 0) {
		SANDBOX_ALLOW(sandbox, SCMP_SYS(renameat));
		sandbox_allow_directory(sandbox, self->shared.cache.dir_fd, SANDBOX_READ_AND_WRITE);
	}
	sandbox->memory_max = MEMORY_MAX;
}

int preload_source_start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct preload_source *self = data;
	const char *refusal = target_refusal(&self->target);

	if (refusal) {
		stage_error(stage, "'%s' cannot be traced: %s", self->options.command[0], refusal);
		return -ECANCELED;
	}
	return doorbell_hang(&self->doorbell); /* starts a thread: after all forks */
}
