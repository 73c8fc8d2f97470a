/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/elf/elf-image.h"
#include "common/stage/helper-process.h"
#include "perf-source/context/context-reader.h"
#include "perf-source/image/tls-variable.h"

enum {
	HEADER_VERSION = 2,
	TRIES_MAX = 50, /* while the process changes its context, */
	PAUSE_NS = 1000000,
	NICENESS = 5,
	MEMORY_FD = HELPER_PROCESS_FD,
	FIRST_IMAGE_FD,
};

/* OTEP 4719. */
struct context_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published; /* 0: it is being changed */
	uint64_t payload;
};

static bool read_memory(uint64_t address, void *ret, size_t size)
{
	return pread(MEMORY_FD, ret, size, address) == (ssize_t)size;
}

/* A payload counts if the header is the same before and after it was read. */
static int try_to_read(uint64_t address, struct context_answer *answer)
{
	struct context_header before, after;

	if (!read_memory(address, &before, sizeof(before)) ||
	    memcmp(before.signature, "OTEL_CTX", sizeof(before.signature)) != 0 ||
	    before.version != HEADER_VERSION)
		return -ENOENT;
	if (!before.published)
		return -EAGAIN;
	if (before.payload_size > sizeof(answer->payload))
		return -E2BIG;
	if (!read_memory(before.payload, answer->payload, before.payload_size) ||
	    !read_memory(address, &after, sizeof(after)) ||
	    memcmp(&before, &after, sizeof(before)) != 0)
		return -EAGAIN;
	answer->published = before.published;
	answer->payload_size = before.payload_size;
	return 0;
}

static int read_context_at(uint64_t address, struct context_answer *answer)
{
	static const struct timespec pause = { 0, PAUSE_NS };
	int r = -EAGAIN;

	for (size_t i = 0; i < TRIES_MAX && r == -EAGAIN; i++) {
		if (i)
			nanosleep(&pause, NULL);
		r = try_to_read(address, answer);
	}
	return r;
}

/* The first of the mappings that holds a context counts. */
static int read_context(const struct context_hints *hints, struct context_answer *answer)
{
	int r = -ENOENT;

	for (size_t i = 0; i < hints->n && r == -ENOENT; i++)
		r = read_context_at(hints->addresses[i], answer);
	return r;
}

/* A known interpreter counts, else what is known of another one. */
static void find_runtime(const struct loaded_image *loaded, uint64_t image, struct runtime *ret)
{
	struct runtime found = { .image = image };

	runtime_find(loaded, &found);
	if (found.state != RUNTIME_NONE)
		*ret = found;
}

/* Looks into a file, which image->fd gives over. */
static void look_into(const struct context_image *image, const struct context_hints *hints,
		      struct context_answer *answer)
{
	struct loaded_image loaded = { .memory = MEMORY_FD };
	struct elf_image elf;
	uint64_t address;

	if (elf_image_open_descriptor(image->fd, 0, &elf) != ELF_IMAGE_OK)
		return;
	if (elf_image_address(&elf, image->offset, &address)) {
		loaded.elf = &elf;
		loaded.bias = image->start - address;
		if (answer->published && answer->place.kind == CONTEXT_PLACE_UNKNOWN &&
		    tls_variable_find(&elf, loaded.bias, MEMORY_FD, "otel_thread_ctx_v1",
				      &answer->place))
			answer->place = (struct context_place){ 0 };
		if (hints->may_have_runtime && answer->runtime.state != RUNTIME_KNOWN)
			find_runtime(&loaded, image->image, &answer->runtime);
	}
	elf_image_close(&elf);
}

/* Runs in the helper. `answer->error` is set last. */
static void run(pid_t parent, const struct context_hints *hints, const struct context_image *images,
		size_t n, struct context_answer *answer)
{
	int r;

	setpriority(PRIO_PROCESS, 0, NICENESS);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may wait in its target's memory for ever */
	if (getppid() != parent || !helper_process_confine_reader(SCMP_SYS(clock_nanosleep)))
		return;
	r = read_context(hints, answer);
	for (size_t i = 0; i < n; i++) {
		struct context_image image = images[i];

		image.fd = FIRST_IMAGE_FD + i;
		if (r == 0 || hints->may_have_runtime)
			look_into(&image, hints, answer);
	}
	answer->error = r;
}

int context_reader_begin(struct context_reader *reader, int memory,
			 const struct context_hints *hints, const struct context_image *images,
			 size_t n_images)
{
	int fds[1 + CONTEXT_READER_IMAGES_MAX] = { memory };
	pid_t parent = getpid();
	void *shared = mmap(NULL, sizeof(*reader->answer), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return -errno;
	if (n_images > CONTEXT_READER_IMAGES_MAX)
		n_images = CONTEXT_READER_IMAGES_MAX;
	for (size_t i = 0; i < n_images; i++)
		fds[1 + i] = images[i].fd;
	*reader = (struct context_reader){
		.answer = shared,
		.ended_fd = -1,
		.give_up_at = clock_now(CLOCK_MONOTONIC) +
			      CONTEXT_READER_PATIENCE_MS * NANOSECONDS_A_MILLISECOND,
	};
	reader->answer->error = -EIO;
	reader->pid = fork();
	if (reader->pid < 0) {
		int error = -errno;

		context_reader_end(reader);
		return error;
	}
	if (reader->pid == 0) {
		if (helper_process_begin("context-reader", fds, 1 + n_images))
			run(parent, hints, images, n_images, reader->answer);
		_exit(0);
	}
	reader->ended_fd = helper_process_watch(reader->pid);
	return 0;
}

int context_reader_look(struct context_reader *reader)
{
	int status;

	if (waitpid(reader->pid, &status, WNOHANG) == reader->pid) {
		reader->pid = 0;
		return WIFEXITED(status) && reader->answer->error != -EIO ? 0 : -EIO;
	}
	return clock_now(CLOCK_MONOTONIC) < reader->give_up_at ? -EAGAIN : -ETIMEDOUT;
}

/* A killed process ends at once, unless it waits for a file that its target has mapped. */
static bool end_helper(pid_t pid)
{
	static const struct timespec pause = { 0, PAUSE_NS };

	kill(pid, SIGKILL);
	for (size_t i = 0; i < TRIES_MAX; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

bool context_reader_end(struct context_reader *reader)
{
	bool has_ended = reader->pid <= 0 || end_helper(reader->pid);

	if (reader->answer) {
		munmap(reader->answer, sizeof(*reader->answer));
		if (reader->ended_fd >= 0)
			close(reader->ended_fd);
	}
	*reader = (struct context_reader){ 0 };
	return has_ended;
}
