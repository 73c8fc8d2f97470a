/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "preload-source/injected/connection.h"
#include "preload-source/injected/environment.h"
#include "preload-source/injected/filtered.h"
#include "preload-source/injected/sampling.h"
#include "preload-source/injected/sanitizer.h"
#include "preload-source/injected/system-call.h"
#include "preload-source/injected/text.h"

enum {
	DESCRIPTORS = 3, /* rings, tables, bell */
	ASK_MS = 1000,	 /* longest wait of connection_ask(), if it may wait */
};

static struct connection unconnected; /* used until its page is made */
struct connection *connection = &unconnected;
struct connected connected;
static uint32_t n_epochs;
static bool follows = true; /* until a reader refuses children */

/* Returns NULL on failure. */
static void *map(uint64_t size, int protection, int flags, int fd)
{
	long memory = system_call(SYS_mmap, NULL, size, protection, flags, fd, 0);

	return memory < 0 && memory > -HEAP_PAGE ? NULL : (void *)memory;
}

static void unmap(const void *memory, uint64_t size)
{
	if (memory)
		system_call(SYS_munmap, memory, size);
}

/* The page is zero in each child, even without a fork handler (madvise(2), Linux 4.14). */
static struct connection *make_page(void)
{
	void *page = map(HEAP_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (page && system_call(SYS_madvise, page, HEAP_PAGE, MADV_WIPEONFORK) < 0) {
		unmap(page, HEAP_PAGE);
		return NULL;
	}
	return page;
}

/*
 * Once the reader has exited anyone can bind its address, and what a peer sends is mapped here. So
 * the listener's user must be root or one of our own, as the kernel reports it (unix(7)).
 */
static bool may_be_the_reader(int fd)
{
	struct ucred peer = { .uid = -1 };
	unsigned size = sizeof(peer);

	return system_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == (uid_t)system_call(SYS_getuid, 0) ||
		peer.uid == (uid_t)system_call(SYS_geteuid, 0));
}

static int open_socket(const struct environment *environment)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval patience = { .tv_sec = HEAP_REPLY_MS / 1000 };
	size_t size = text_size(environment->address);
	long fd;

	if (size + 1 > sizeof(address.sun_path))
		return -1;
	for (size_t i = 0; i < size; i++)
		address.sun_path[1 + i] = environment->address[i];
	fd = system_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	system_call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	/* Limits connect(2), too, as others may fill the backlog. */
	system_call(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (system_call(SYS_connect, fd, &address,
			offsetof(struct sockaddr_un, sun_path) + 1 + size) < 0 ||
	    !may_be_the_reader(fd)) {
		system_call(SYS_close, fd);
		return -1;
	}
	return fd;
}

static bool send_hello(int fd, const struct environment *environment, enum heap_purpose purpose)
{
	struct heap_hello hello = {
		.magic = HEAP_MAGIC,
		.version = HEAP_VERSION,
		.purpose = purpose,
		.pid = system_call(SYS_getpid, 0),
		.token = { environment->token[0], environment->token[1] },
	};

	return system_call(SYS_sendto, fd, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello);
}

/* Receives the answer, and as many descriptors as came with it. */
static bool receive(int fd, struct heap_welcome *ret, int fds[DESCRIPTORS], int *n_fds)
{
	char control[CMSG_SPACE(DESCRIPTORS * sizeof(int))] __attribute__((aligned(8)));
	struct iovec part = { ret, sizeof(*ret) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	long size;

	*n_fds = 0;
	do {
		size = system_call(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
	} while (size == -EINTR);
	header = size == sizeof(*ret) ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		*n_fds = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(header), *n_fds * sizeof(int));
	}
	return size == sizeof(*ret) && ret->magic == HEAP_MAGIC;
}

/* Children do not inherit it: their writes would be taken for ours. */
static void *map_shared(int fd, uint64_t size, int protection)
{
	void *memory = map(size, protection, MAP_SHARED, fd);

	if (memory)
		system_call(SYS_madvise, memory, size, MADV_DONTFORK);
	return memory;
}

static void *map_scratches(void)
{
	uint64_t size = HEAP_RINGS_MAX * sizeof(struct scratch);
	void *memory =
		map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (memory)
		system_call(SYS_madvise, memory, size, MADV_DONTFORK);
	return memory;
}

static bool map_all(const struct heap_welcome *welcome, const int fds[DESCRIPTORS])
{
	struct connected maps = {
		.region = map_shared(fds[0], heap_region_size(), PROT_READ | PROT_WRITE),
		.tables = map_shared(fds[1], HEAP_TABLES_SIZE, PROT_READ),
		.doorbell = map_shared(fds[2], HEAP_PAGE, PROT_READ | PROT_WRITE),
		.scratches = map_scratches(),
	};

	if (maps.region && maps.tables && maps.doorbell && maps.scratches &&
	    maps.region->magic == HEAP_MAGIC && maps.region->version == HEAP_VERSION &&
	    welcome->mappings <= HEAP_TABLES_SIZE - sizeof(*maps.mappings)) {
		maps.mappings = (const void *)(maps.tables + welcome->mappings);
		connected = maps;
		return true;
	}
	unmap(maps.region, heap_region_size());
	unmap(maps.tables, HEAP_TABLES_SIZE);
	unmap(maps.doorbell, HEAP_PAGE);
	unmap(maps.scratches, HEAP_RINGS_MAX * sizeof(struct scratch));
	return false;
}

/* Whether the reader accepts this process, and all memory could be mapped. */
static bool connect_to(const struct environment *environment)
{
	struct heap_welcome welcome;
	int fds[DESCRIPTORS], n_fds = 0, fd = open_socket(environment);
	bool is_recording = false;

	if (fd < 0)
		return false;
	if (send_hello(fd, environment, HEAP_TO_BE_TRACED) && receive(fd, &welcome, fds, &n_fds)) {
		follows = welcome.follows;
		is_recording = welcome.answer == HEAP_WELCOME && n_fds == DESCRIPTORS &&
			       map_all(&welcome, fds);
	}
	for (int i = 0; i < n_fds; i++)
		system_call(SYS_close, fds[i]);
	system_call(SYS_close, fd);
	return is_recording;
}

/* A seccomp filter, set or inherited, may kill the program for a socket. */
static bool may_connect(const struct environment *environment)
{
	return !filtered_is() && !filtered_from_before(environment->n_filters);
}

void connection_send_sanitizer(const struct environment *environment)
{
	int fd = open_socket(environment);

	if (fd < 0)
		return;
	send_hello(fd, environment, HEAP_HAS_SANITIZER);
	system_call(SYS_close, fd);
}

static enum connection_phase try_once(void)
{
	static struct environment environment; /* kept for forked children */
	static bool has_environment;
	enum connection_phase phase = CONNECTION_SILENT;

	if (!has_environment)
		has_environment = environment_read(&environment);
	if (has_environment && follows && may_connect(&environment) && connect_to(&environment)) {
		if (connected.region->sampling && connected.region->when_full != HEAP_ADAPT)
			sampling_begin();
		__atomic_store_n(&connection->epoch, ++n_epochs, __ATOMIC_RELEASE);
		phase = CONNECTION_RECORDING;
	}
	/* An untraced process hides us from programs that it executes; a traced one does not. */
	if (phase == CONNECTION_SILENT && has_environment)
		environment_hide();
	return phase;
}

bool connection_is_recording(void)
{
	uint32_t phase = __atomic_load_n(&connection->phase, __ATOMIC_ACQUIRE);
	int error = errno;

	if (connection == &unconnected) {
		uint32_t none = CONNECTION_NONE;
		struct connection *page;

		if (sanitizer_is_here())
			return false;
		/* One thread makes the page; there are hardly others so early. */
		if (!__atomic_compare_exchange_n(&unconnected.phase, &none, CONNECTION_TRYING,
						 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return false;
		page = make_page();
		if (!page) {
			errno = error;
			return false;
		}
		__atomic_store_n(&connection, page, __ATOMIC_RELEASE);
		phase = CONNECTION_NONE;
	}
	if (phase == CONNECTION_NONE &&
	    __atomic_compare_exchange_n(&connection->phase, &phase, CONNECTION_TRYING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		phase = try_once();
		__atomic_store_n(&connection->phase, phase, __ATOMIC_RELEASE);
		if (phase == CONNECTION_RECORDING && connection->n_missed)
			__atomic_fetch_add(&connected.region->n_unrecorded, connection->n_missed,
					   __ATOMIC_RELAXED);
	}
	if (phase == CONNECTION_TRYING) /* another thread is connecting */
		__atomic_fetch_add(&connection->n_missed, 1, __ATOMIC_RELAXED);
	errno = error;
	return phase == CONNECTION_RECORDING;
}

void connection_end(void)
{
	__atomic_store_n(&connection->phase, CONNECTION_SILENT, __ATOMIC_RELEASE);
	__atomic_store_n(&connection->epoch, 0, __ATOMIC_RELEASE);
}

void connection_ring_doorbell(void)
{
	int error = errno;

	/* A reader that is not woken polls now and then. */
	if (!__atomic_load_n(&connected.doorbell[1], __ATOMIC_SEQ_CST) || filtered_is())
		return;
	__atomic_fetch_add(&connected.doorbell[0], 1, __ATOMIC_SEQ_CST);
	system_call(SYS_futex, connected.doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	errno = error;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

bool connection_ask(void)
{
	struct heap_region *region = connected.region;
	const struct timespec pause = { .tv_nsec = 100 * 1000000 };
	uint32_t wanted = __atomic_add_fetch(&region->wanted, 1, __ATOMIC_SEQ_CST), answered;
	uint64_t until =
		milliseconds() +
		(region->block_ns / 1000000 < ASK_MS ? region->block_ns / 1000000 : ASK_MS);
	int error = errno;

	connection_ring_doorbell();
	if (region->when_full == HEAP_DROP || filtered_is()) /* waiting is not allowed */
		return false;
	for (;;) {
		answered = __atomic_load_n(&region->answered, __ATOMIC_ACQUIRE);
		if ((int32_t)(answered - wanted) >= 0 || region->state != HEAP_RECORDING ||
		    milliseconds() >= until)
			break;
		system_call(SYS_futex, &region->answered, FUTEX_WAIT, answered, &pause, NULL, 0);
	}
	errno = error;
	return (int32_t)(answered - wanted) >= 0;
}
