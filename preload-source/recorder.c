/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The main loop: accepts programs and drains their rings until all have ended. */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/source/host-files.h"
#include "common/source/source-output.h"
#include "preload-source/preload-source.h"
#include "preload-source/target-check.h"

enum {
	LOOK_MS = 50,	    /* timeout: a ring less than a third full does not wake us */
	REPLACED_LOOKS = 2, /* checks (one per CHECK_NS) before a new program counts as untraced */
	LOOKS_MAX = 16,	    /* rereads of a process's mappings before other processes' turn */
	FIXED_FDS = 4 + LISTENER_PENDING_MAX,
};

#define CHECK_NS (NANOSECONDS_A_SECOND / 4)

static void wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool has_ended(int pid_fd)
{
	struct pollfd fd = { pid_fd, POLLIN, 0 };

	return poll(&fd, 1, 0) > 0;
}

static struct traced *find_traced(struct preload_source *self, uint32_t pid)
{
	struct traced *traced = self->traced;

	while (traced && traced->process.pid != pid)
		traced = traced->next;
	return traced;
}

int preload_source_find_maps(uint32_t pid, void *data)
{
	const struct traced *traced = find_traced(data, pid);

	return traced ? traced->maps_fd : -ESRCH;
}

static void unlink_traced(struct preload_source *self, struct traced *traced)
{
	struct traced **at = &self->traced;

	while (*at != traced)
		at = &(*at)->next;
	*at = traced->next;
	self->n_traced--;
}

static void forget_traced(struct preload_source *self, struct traced *traced)
{
	unlink_traced(self, traced);
	shared_tables_remove_list(&self->shared, traced->list);
	traced_free(traced);
}

/* Emits what a process left in its rings when it exited or executed another program. */
static int end_traced(struct preload_source *self, struct traced *traced)
{
	int r = traced_finish(traced, &self->encoder);

	if (r == 0)
		r = processes_finish(&self->processes, traced->process.pid, traced->last_ns);
	forget_traced(self, traced);
	return r;
}

/* Publishes the mappings in the process's list. 0 or -errno of the output. */
static int publish(struct preload_source *self, struct traced *traced, uint32_t answers)
{
	const struct mapping_table *mappings =
		processes_mappings(&self->processes, traced->process.pid);

	return mappings ? shared_tables_update(&self->shared, traced->list, mappings, answers) : 0;
}

/* Sets up an accepted process: its memory, its list of mappings, and heap_begin. */
static int begin_traced(struct preload_source *self, const struct listener_client *client,
			struct traced **ret)
{
	struct traced_process process = { .pid = client->pid, .own_pid = client->own_pid };
	struct wire_heap_begin record = { .interval = self->options.policy.sampling };
	struct traced *traced;
	int r = process_opener_open(&self->opener, client->pid, &process.pid_fd, &process.maps_fd);

	if (r == 0)
		r = traced_begin(&process, &self->options.policy, &traced);
	if (r < 0)
		return r;
	r = shared_tables_add_list(&self->shared, &traced->list);
	if (r < 0) {
		traced_free(traced);
		return r;
	}
	traced->next = self->traced;
	self->traced = traced;
	self->n_traced++;
	r = processes_discover(&self->processes, client->pid, WIRE_origin_FOUND, traced->last_ns,
			       &traced->process.upid);
	if (r < 0) {
		forget_traced(self, traced);
		return r;
	}
	self->n_discovered++;
	record.process = traced->process.upid;
	record.time = traced->last_ns;
	r = stage_put(self->images.stage, WIRE_RECORD_heap_begin, &record);
	heap_encoder_note_look(&self->encoder, &traced->process, 0);
	*ret = traced;
	return r < 0 ? r : publish(self, traced, 0);
}

/* Whether to trace a process: only the command, unless children are followed. */
static bool is_wanted(const struct preload_source *self, uint32_t pid)
{
	return self->options.children == PRELOAD_FOLLOW || pid == (uint32_t)self->command.pid;
}

/* Warns if the program did not wait for the answer, as it then runs untraced. */
static int exchange_hello(struct stage *stage, struct preload_source *self,
			  struct listener_client *client, const struct heap_welcome *welcome,
			  const int fds[3])
{
	struct traced *traced = find_traced(self, client->pid);

	if (listener_answer(client, welcome, fds) == 0 || !traced)
		return 0;
	if (!has_ended(traced->pid_fd))
		stage_warn(stage, "process %u is not traced: it timed out while connecting",
			   client->pid);
	return end_traced(self, traced);
}

/* Whether an error affects only this process, not the recording. */
static bool is_of_the_process(int r)
{
	return r == -ESRCH || r == -ENOSPC || r == -EMFILE || r == -ETIMEDOUT || r == -ENOTCONN;
}

/* Counts a program that has a sanitizer, and expects no answer. */
static void count_sanitizer(struct preload_source *self, const struct listener_client *client)
{
	close(client->fd);
	if (is_wanted(self, client->pid))
		self->n_sanitizers++;
}

static int answer_client(struct stage *stage, struct preload_source *self,
			 struct listener_client *client)
{
	struct heap_welcome welcome = {
		.magic = HEAP_MAGIC,
		.answer = HEAP_REFUSED,
		.follows = self->options.children == PRELOAD_FOLLOW,
	};
	struct traced *traced = find_traced(self, client->pid);
	int fds[3] = { -1, self->shared.memory.fd, self->doorbell.memory.fd };
	int r = 0;

	if (traced) /* the process executed another program */
		r = end_traced(self, traced);
	if (client->purpose == HEAP_HAS_SANITIZER) {
		count_sanitizer(self, client);
		return r;
	}
	if (r == 0 && is_wanted(self, client->pid)) {
		r = begin_traced(self, client, &traced);
		if (is_of_the_process(r)) {
			stage_warn(stage, "process %u is not traced: %s", client->pid,
				   strerror(-r));
			r = 0;
		} else if (r == 0) {
			welcome.answer = HEAP_WELCOME;
			welcome.mappings = traced->list;
			fds[0] = traced->memory.fd;
		}
	}
	if (r < 0)
		close(client->fd);
	else
		r = exchange_hello(stage, self, client, &welcome, fds);
	return r;
}

static int answer_listener(struct stage *stage, struct preload_source *self)
{
	struct listener_client client;
	int r = 0;

	listener_accept(&self->listener);
	while (r == 0 && listener_next(&self->listener, &client))
		r = answer_client(stage, self, &client);
	return r;
}

/* Whether no code was or is being unmapped since: other code may be mapped in its place. */
static bool is_of_generation(const struct heap_region *region, uint32_t generation)
{
	return !__atomic_load_n(&region->n_unmapping, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&region->generation, __ATOMIC_SEQ_CST) == generation;
}

/* Rereads a process's mappings and publishes them. 0 or -errno of the output. */
static int look_again(struct preload_source *self, struct traced *traced, uint32_t wanted)
{
	uint32_t generation = __atomic_load_n(&traced->region->generation, __ATOMIC_SEQ_CST);
	bool is_of_one_moment = is_of_generation(traced->region, generation);
	int r = processes_read_again(&self->processes, traced->process.pid, traced->last_ns);

	if (r < 0 && r != -ESRCH)
		return r;
	is_of_one_moment &= r == 0 && is_of_generation(traced->region, generation);
	if (is_of_one_moment)
		heap_encoder_note_look(&self->encoder, &traced->process, generation);
	else
		heap_encoder_forget_look(&traced->process);
	traced->process.maps_version++;
	return publish(self, traced, wanted);
}

/* The waiting thread may need a ring, so drained rings of exited threads are freed first. */
static void answer(struct traced *traced, uint32_t wanted)
{
	traced_recycle(traced);
	__atomic_store_n(&traced->region->answered, wanted, __ATOMIC_RELEASE);
	wake(&traced->region->answered);
}

/*
 * A process requests a reread of its mappings when it finds code that is not in its list, before it
 * unmaps code, and after. It waits for the answer to the first two, which is given when all records
 * committed before were read: so addresses are resolved by the mappings that they were recorded
 * with. After the third, stacks are raw until the answer, and raw stacks are read after the reread.
 */
static int attend(struct preload_source *self, struct traced *traced)
{
	int r = -EAGAIN;

	for (int i = 0; i < LOOKS_MAX && r == -EAGAIN; i++) {
		uint32_t wanted = __atomic_load_n(&traced->region->wanted, __ATOMIC_ACQUIRE);
		bool is_asked = wanted != traced->looked_at;

		r = is_asked ? look_again(self, traced, wanted) : 0;
		if (r == 0)
			r = traced_drain(traced, &self->encoder, wanted);
		if (traced->has_new_threads && (r == 0 || r == -EAGAIN))
			r = traced_name_threads(traced, &self->processes) ?: r;
		if (is_asked)
			answer(traced, wanted);
	}
	return r == -EAGAIN ? 0 : r;
}

static int attend_all(struct preload_source *self)
{
	int r = 0;

	for (struct traced *traced = self->traced; traced && r == 0; traced = traced->next)
		r = attend(self, traced);
	return r;
}

/* An exited process writes no more. */
static int end_the_dead(struct preload_source *self)
{
	struct traced *traced, *next;
	int r = 0;

	for (traced = self->traced; traced && r == 0; traced = next) {
		next = traced->next;
		if (has_ended(traced->pid_fd))
			r = end_traced(self, traced);
	}
	return r;
}

/*
 * Whether the process executed another program, so that the old program's maps read as empty. A
 * traced program would have connected by now.
 */
static bool has_been_replaced(const struct traced *traced)
{
	char byte;

	return traced->maps_fd >= 0 && lseek(traced->maps_fd, 0, SEEK_SET) == 0 &&
	       read(traced->maps_fd, &byte, 1) == 0 && !has_ended(traced->pid_fd);
}

/* Ends processes that execute a program that never connects, with a warning. */
static int end_the_replaced(struct stage *stage, struct preload_source *self)
{
	struct traced *traced, *next;
	int r = 0;

	for (traced = self->traced; traced && r == 0; traced = next) {
		next = traced->next;
		if (!has_been_replaced(traced) || traced->n_replaced++ < REPLACED_LOOKS)
			continue;
		stage_warn(stage,
			   "process %" PRIu32
			   " now runs another program, which never connected: its "
			   "environment was cleared, or it is static or setuid",
			   traced->process.pid);
		r = end_traced(self, traced);
	}
	return r;
}

static int name_threads(struct preload_source *self)
{
	int r = 0;

	for (struct traced *traced = self->traced; traced && r == 0; traced = traced->next)
		r = traced_name_threads(traced, &self->processes);
	return r;
}

/* Periodic checks for changes that ring no doorbell. */
static int check(struct preload_source *self)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r = images_take_states(&self->images);

	if (r < 0 || now - self->checked_at < CHECK_NS)
		return r;
	self->checked_at = now;
	r = end_the_replaced(self->images.stage, self);
	if (r == 0)
		r = name_threads(self);
	return r < 0 ? r : images_check(&self->images);
}

static bool is_due(const struct preload_source *self)
{
	for (const struct traced *traced = self->traced; traced; traced = traced->next)
		if (traced_is_due(traced))
			return true;
	return false;
}

/*
 * Sleeps until the doorbell rings, a program connects or exits, or LOOK_MS are over. Rings before
 * doorbell_listen() have no effect, but is_due() then finds what they were for. 0 or -ENOMEM.
 */
static int wait_for_news(struct preload_source *self)
{
	size_t n = 0;
	struct pollfd *fds = calloc(FIXED_FDS + self->n_traced, sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	doorbell_listen(&self->doorbell);
	if (is_due(self)) {
		free(fds);
		return 0;
	}
	fds[n++] = (struct pollfd){ self->doorbell.fd, POLLIN, 0 };
	fds[n++] = (struct pollfd){ self->listener.fd, POLLIN, 0 };
	fds[n++] = (struct pollfd){ self->command.pid_fd, POLLIN, 0 };
	for (size_t i = 0; i < self->listener.n_pending; i++)
		fds[n++] = (struct pollfd){ self->listener.pending[i].fd, POLLIN, 0 };
	for (struct traced *traced = self->traced; traced; traced = traced->next)
		fds[n++] = (struct pollfd){ traced->pid_fd, POLLIN, 0 };
	poll(fds, n, LOOK_MS);
	free(fds);
	return 0;
}

/* Whether a process is traced, or the command still runs. */
static bool goes_on(struct preload_source *self)
{
	return self->n_traced || !has_ended(self->command.pid_fd);
}

/* After the last process ended, the listener is checked once more for earlier connections. */
static int record(struct stage *stage, struct preload_source *self)
{
	bool is_over = false;
	int r = 0;

	while (r == 0 && !stage_should_stop() && !is_over) {
		is_over = !goes_on(self);
		r = answer_listener(stage, self);
		if (r == 0)
			r = attend_all(self);
		if (r == 0)
			r = end_the_dead(self);
		if (r == 0)
			r = check(self);
		stage->last_time = clock_now(CLOCK_MONOTONIC);
		if (r == 0)
			r = wire_writer_flush(&stage->writer);
		is_over = is_over && !goes_on(self);
		if (r == 0 && !is_over)
			r = wait_for_news(self);
	}
	return r;
}

static int begin(struct stage *stage, struct preload_source *self)
{
	int r = host_files_put(stage, self->start_time);

	if (r < 0)
		return r;
	r = command_start(&self->command);
	if (r < 0) {
		stage_error(stage, "could not run '%s': %s", self->options.command[0],
			    strerror(-r));
		command_reap(&self->command);
		stage->exit_status = self->command.status;
		return -ECANCELED;
	}
	return 0;
}

/* Warns if nothing or not everything was recorded, with the reason. */
static void explain_silence(struct stage *stage, const struct preload_source *self)
{
	const char *reason = target_check(&self->target);

	if (self->n_sanitizers)
		stage_warn(stage,
			   "not traced: %" PRIu64 " program%s with a sanitizer (AddressSanitizer, "
			   "...), which has its own allocator, and the programs that %s started",
			   self->n_sanitizers, self->n_sanitizers == 1 ? "" : "s",
			   self->n_sanitizers == 1 ? "it has" : "they have");
	if (!self->n_discovered && !self->n_sanitizers)
		stage_warn(stage, "the program never connected: %s",
			   reason ? reason
				  : "it allocated nothing, or was started without LD_PRELOAD");
	else if (reason == target_allocator)
		stage_warn(stage, "the program's own allocations are not recorded: %s", reason);
}

/* Stops recording; the programs run on. */
static void let_go(struct preload_source *self)
{
	for (struct traced *traced = self->traced; traced; traced = traced->next)
		__atomic_store_n(&traced->region->state, HEAP_ENDED, __ATOMIC_SEQ_CST);
	listener_close(&self->listener);
}

/* Output failed or memory ran out, through no fault of the command: it runs on, untraced. */
static int give_up(struct stage *stage, struct preload_source *self, int error)
{
	let_go(self);
	command_end(&self->command, stage);
	return error;
}

static int finish(struct stage *stage, struct preload_source *self)
{
	int r = 0;

	let_go(self);
	while (self->traced && r == 0)
		r = end_traced(self, self->traced);
	if (r == 0)
		r = images_take_states(&self->images);
	explain_silence(stage, self);
	command_emit_crash(&self->command, stage, self->options.command[0]);
	*counters_get(&stage->counters, "processes", "traced") += self->n_discovered;
	if (self->n_sanitizers)
		*counters_get(&stage->counters, "processes", "with-sanitizer") +=
			self->n_sanitizers;
	*counters_get(&stage->counters, "heap", "stacks") += self->encoder.n_stacks;
	if (self->listener.n_refused)
		*counters_get(&stage->counters, "refused", "visitors") += self->listener.n_refused;
	stage->end_time = clock_now(CLOCK_MONOTONIC);
	return r;
}

int preload_source_run(struct stage *stage, void *data)
{
	struct preload_source *self = data;
	int r = begin(stage, self);

	if (r < 0)
		return r;
	r = record(stage, self);
	return r < 0 ? give_up(stage, self, r) : finish(stage, self);
}

int preload_source_close(struct stage *stage, void *data)
{
	struct preload_source *self = data;

	source_output_close();
	images_deinit(&self->images);
	command_end(&self->command, stage);
	image_server_wait(&self->server, stage_must_stop);
	image_server_count(&self->server, &stage->run_counters);
	return 0;
}

void preload_source_deinit(void *data)
{
	struct preload_source *self = data;

	command_reap(&self->command); /* ends a command that was never started */
	while (self->traced) {
		struct traced *traced = self->traced;

		self->traced = traced->next;
		traced_free(traced);
	}
	doorbell_deinit(&self->doorbell);
	listener_close(&self->listener);
	process_opener_deinit(&self->opener);
	target_close(&self->target);
	heap_encoder_deinit(&self->encoder);
	shared_tables_deinit(&self->shared);
	processes_deinit(&self->processes);
	images_deinit(&self->images);
}
