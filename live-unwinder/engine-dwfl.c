/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brings a process's session (a Dwfl with its modules) up to date and takes frames from libdwfl's
 * callback. libdwfl does not report why it stopped, so stack-end.c examines the last frame's rule.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>
#include <elfutils/libdwfl_stacktrace.h>

#include "common/base/cleanup.h"
#include "common/base/lru.h"
#include "common/base/pair-map.h"
#include "common/elf/elf-section.h"
#include "common/unwind/unwind-source.h"
#include "live-unwinder/engine-dwfl.h"
#include "live-unwinder/engines.h"
#include "live-unwinder/stack-end.h"

enum {
	SESSIONS_MAX = 512,	     /* Dwfls kept; the least recently used one is evicted */
	FILES_MAX = 512,	     /* files that the tracker keeps open before it is restarted */
	CALL_FRAMES_MAX = 256 << 20, /* bytes of their call frames, likewise */
	MODULES_MAX = 4096,	     /* per process; further ones are left out */
};

/* A Dwfl and what it was built from. */
struct session {
	Dwfl *dwfl;
	struct process *process; /* NULL: the slot is free */
	uint64_t version;	 /* of the process's mappings when they were last reported */
	Elf *elf;		 /* one of its files, owned: gives libdwfl the machine */
	struct lru_link used;
};

struct engine_dwfl {
	struct elf_cache *files; /* borrowed */
	Dwflst_Process_Tracker *tracker;
	struct pair_map tracked; /* (image, 0) → 1: the tracker may keep its file open */
	size_t n_stale;		 /* tracked images that have ended */
	uint64_t call_frames;	 /* bytes of those of tracked images */
	struct session sessions[SESSIONS_MAX];
	struct lru used;
};

static bool is_call_frames(const struct elf_section *section)
{
	return !strcmp(section->name, ".debug_frame") || !strcmp(section->name, ".zdebug_frame");
}

/* Keeps .debug_frame alone of all DWARF: a small file's other sections may unfold to gigabytes. */
static void hide_what_is_not_needed(Elf *elf)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (elf_section_is_dwarf(&section) &&
		    (!is_call_frames(&section) ||
		     elf_section_size_in_memory(&section) > UNWIND_SECTION_MAX))
			elf_section_hide(&section);
}

static bool has_call_frames(Elf *elf)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (!strcmp(section.name, ".eh_frame") && section.header.sh_type == SHT_PROGBITS)
			return true;
	return false;
}

/*
 * Without a section .eh_frame, libdw reads all of the file from where PT_GNU_EH_FRAME leads: of a
 * file with gigabytes, where the section was too large, nothing.
 */
static void hide_long_call_frames(const struct elf_image *file)
{
	size_t n;

	if (!file->n_hidden || file->state.size <= UNWIND_SECTION_MAX ||
	    has_call_frames(file->elf) || elf_getphdrnum(file->elf, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(file->elf, i, &header) || header.p_type != PT_GNU_EH_FRAME)
			continue;
		header.p_type = PT_NULL;
		gelf_update_phdr(file->elf, i, &header);
	}
}

/* Takes files from the image server by the module's image, never by a path. */
static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **ret_file_name, Elf **ret_elf)
{
	Dwflst_Process_Tracker *tracker = dwflst_module_gettracker(module);
	struct elf_image *file = *userdata;
	char path[32];
	int fd;

	if (!file || !elf_cache_reopen(file))
		return -1;
	if (file->fd < 0) { /* in memory (vdso): all processes share it */
		file->elf = elf_begin(-1, ELF_C_READ, file->elf); /* one more reference */
		*ret_elf = file->elf;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	fd = dwflst_tracker_find_cached_elf(tracker, name, path, ret_file_name, ret_elf);
	if (fd >= 0)
		return fd;
	hide_what_is_not_needed(file->elf);
	hide_long_call_frames(file);
	unwind_source_hide_dropped(file);
	*ret_elf = elf_begin(file->fd, ELF_C_READ, file->elf); /* one more reference */
	*ret_file_name = strdup(path);
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0); /* the tracker closes this descriptor */
	if (!*ret_elf || !*ret_file_name || fd < 0) {
		elf_end(take_pointer(*ret_elf));
		free(take_pointer(*ret_file_name));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	dwflst_tracker_cache_elf(tracker, name, path, *ret_elf, fd);
	return fd;
}

/* Unwinding needs no debug files: none is fetched from the network or opened unchecked. */
static int find_no_debuginfo(Dwfl_Module *module, void **userdata, const char *name,
			     Dwarf_Addr base, const char *file_name, const char *debuglink_file,
			     GElf_Word debuglink_crc, char **ret_file_name)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_no_debuginfo,
};

/* Called for the first session only: tables cover every rule of many streams. */
static bool begin_tracker(struct engine_dwfl *engine)
{
	engine->n_stale = engine->call_frames = 0;
	engine->tracker = dwflst_tracker_begin(&callbacks);
	return engine->tracker;
}

int engine_dwfl_new(struct elf_cache *files, struct engine_dwfl **ret)
{
	struct engine_dwfl *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->files = files;
	pair_map_init(&engine->tracked, FILES_MAX);
	*ret = engine;
	return 0;
}

static void end_session(struct engine_dwfl *engine, struct session *session)
{
	lru_remove(&engine->used, &session->used);
	dwfl_end(session->dwfl);
	elf_end(session->elf);
	session->process->data = NULL;
	*session = (struct session){ 0 };
}

/* dwflst_tracker_end() ends only sessions that have unwound something, so all are ended here. */
static void end_tracker(struct engine_dwfl *engine)
{
	while (engine->used.n)
		end_session(engine, lru_oldest(&engine->used));
	if (engine->tracker)
		dwflst_tracker_end(engine->tracker);
	engine->tracker = NULL;
	pair_map_deinit(&engine->tracked);
}

void engine_dwfl_forget_image(struct engine_dwfl *engine, uint64_t image)
{
	if (!pair_map_find(&engine->tracked, image, 0))
		return;
	/* The tracker cannot release a single file, so all are released once half are stale. */
	if (++engine->n_stale * 2 >= engine->tracked.n)
		end_tracker(engine);
}

struct engine_dwfl *engine_dwfl_free(struct engine_dwfl *engine)
{
	if (!engine)
		return NULL;
	end_tracker(engine);
	free(engine);
	return NULL;
}

void engine_dwfl_forget(struct engine_dwfl *engine, struct process *process)
{
	if (process->data)
		end_session(engine, process->data);
}

/*
 * libdwfl's PID for a session. The tracker keeps an entry for each PID until it ends, so slot
 * numbers are used, not processes; a slot is reused only after dwfl_end().
 */
static pid_t session_pid(const struct engine_dwfl *engine, const struct session *session)
{
	return session - engine->sessions + 1;
}

static struct session *find_slot(struct engine_dwfl *engine)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++)
		if (!engine->sessions[i].process)
			return &engine->sessions[i];
	struct session *session = lru_oldest(&engine->used);

	end_session(engine, session);
	return session;
}

static Dwfl *make_dwfl(Dwflst_Process_Tracker *tracker, pid_t pid, void *arg)
{
	return dwflst_tracker_dwfl_begin(tracker);
}

/* A single file is never too much: it would be read again for each stack. */
static bool is_full(const struct engine_dwfl *engine)
{
	return engine->tracked.n == FILES_MAX ||
	       (engine->tracked.n > 1 && engine->call_frames > CALL_FRAMES_MAX);
}

/* The session of a process, created if missing; NULL: no memory. */
static struct session *find_session(struct engine_dwfl *engine, struct process *process)
{
	struct session *session;

	if (is_full(engine))
		end_tracker(engine);
	session = process->data;
	if (session) {
		lru_use(&engine->used, &session->used);
		return session;
	}
	if (!engine->tracker && !begin_tracker(engine))
		return NULL;
	session = find_slot(engine);
	session->dwfl = dwflst_tracker_find_pid(engine->tracker, session_pid(engine, session),
						make_dwfl, NULL);
	if (!session->dwfl)
		return NULL;
	session->process = process;
	session->version = UINT64_MAX;
	process->data = session;
	lru_add(&engine->used, &session->used, session);
	return session;
}

/* An image mapped into a process, which libdwfl calls a module. */
struct module {
	uint64_t low, high;
	uint64_t image;
	struct elf_image *file;
};

static int compare_modules(const void *a, const void *b)
{
	const struct module *left = a, *right = b;

	return left->low < right->low ? -1 : left->low > right->low;
}

/*
 * The modules of a process, sorted by address. Only executable mappings are recorded, but a file's
 * segments keep their distances, so these give the first segment's address. libdwfl takes a
 * module's low address for the first segment's; any other address makes the bias wrong.
 */
static size_t find_modules(struct engine_dwfl *engine, struct session *session,
			   struct module *modules)
{
	const struct process *process = session->process;
	size_t n = 0;

	session->version = process_version(process);
	MAPPING_TABLE_EACH(mapping, process_mappings(process))
	{
		struct image *image = image_table_find(engine->files->table, mapping->image);
		struct elf_image *file = image ? elf_cache_get(engine->files, image) : NULL;
		uint64_t address, bias;

		if (!file && image && elf_cache_is_undecided(engine->files, image))
			session->version = process_version(process) - 1; /* look again next time */
		if (!file || !elf_image_address(file, mapping->offset, &address))
			continue;
		if (n == MODULES_MAX) {
			++*counters_get(&engine->files->stage->counters, "refused", "modules");
			break;
		}
		bias = mapping->start - address;
		if (n && modules[n - 1].image == image->number &&
		    modules[n - 1].low == bias + file->low)
			continue; /* another segment of the same module */
		modules[n++] = (struct module){
			.low = bias + file->low,
			.high = bias + file->high,
			.image = image->number,
			.file = file,
		};
	}
	qsort(modules, n, sizeof(*modules), compare_modules);
	return n;
}

/* libdwfl keeps unchanged modules together with everything read from them. */
static void report_modules(struct engine_dwfl *engine, struct session *session)
{
	static struct module modules[MODULES_MAX];
	size_t n = find_modules(engine, session, modules);

	elf_end(session->elf);
	session->elf = n && elf_cache_reopen(modules[0].file)
			       ? elf_begin(modules[0].file->fd, ELF_C_READ, modules[0].file->elf)
			       : NULL;
	dwfl_report_begin(session->dwfl);
	for (size_t i = 0; i < n; i++) {
		uint64_t high = modules[i].high;
		Dwfl_Module *module;
		char name[32];
		void **userdata;

		if (i + 1 < n && high > modules[i + 1].low)
			high = modules[i + 1].low; /* another module lies in its gap */
		snprintf(name, sizeof(name), "image-%llu", (unsigned long long)modules[i].image);
		module = dwfl_report_module(session->dwfl, name, modules[i].low, high);
		if (!module)
			continue;
		dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = modules[i].file;
	}
	dwfl_report_end(session->dwfl, NULL, NULL);
}

/* State of on_frame() between frames. */
struct dwfl_walk {
	struct unwinding *unwinding;
	uint64_t sp; /* of the previous frame */
};

static int stop(struct dwfl_walk *walk, enum wire_stack_end end)
{
	walk->unwinding->end = end;
	return DWARF_CB_ABORT;
}

/*
 * Adds one frame, or ends the stack: libdwfl has no frame limit, follows unwind information that
 * makes no progress, and guesses by frame pointers where unwind information is missing.
 */
static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct dwfl_walk *walk = arg;
	struct unwinding *unwinding = walk->unwinding;
	struct wire_frame *frame = &unwinding->frames[unwinding->n_frames];
	bool is_first = unwinding->n_frames == 0, is_exact;
	const struct mapping *mapping;
	Dwarf_Addr address;
	Dwarf_Word sp;

	if (!dwfl_frame_pc(state, &address, &is_exact))
		return stop(walk, WIRE_stack_end_BAD_UNWIND_INFO);
	if (!is_first && dwfl_frame_unwound_source(state) == DWFL_UNWOUND_EBL)
		return stop(walk, WIRE_stack_end_NO_UNWIND_INFO);
	if (dwfl_frame_reg(state, unwinding->arch->sp, &sp) != 0)
		return stop(walk, WIRE_stack_end_BAD_UNWIND_INFO);
	if (!is_first && address == frame[-1].address && sp <= walk->sp)
		return stop(walk, WIRE_stack_end_BAD_UNWIND_INFO);
	if (unwinding->n_frames == unwinding->n_frames_max)
		return stop(walk, WIRE_stack_end_FRAME_LIMIT);
	mapping = mapping_table_find(process_mappings(unwinding->process), address - !is_exact);
	if (!mapping && !is_first)
		return stop(walk, WIRE_stack_end_NO_MAPPING);
	*frame = (struct wire_frame){
		.address = address,
		.mapping = mapping ? mapping->number : 0,
		.flags = is_exact ? WIRE_frame_flags_EXACT : 0,
	};
	unwinding_note_stack_pointer(unwinding, sp);
	unwinding->n_frames++;
	walk->sp = sp;
	return mapping ? DWARF_CB_OK : stop(walk, WIRE_stack_end_NO_MAPPING);
}

/* Shrinks the stack by 7 bytes: libdwfl checks only that the first byte of a word is in it. */
static size_t size_for_libdwfl(const struct wire_blob *stack)
{
	const size_t beyond = sizeof(uint64_t) - 1;

	return stack->size > beyond ? stack->size - beyond : 0;
}

static void walk_frames(struct engine_dwfl *engine, struct session *session,
			int (*callback)(Dwfl_Frame *state, void *arg), void *arg,
			const struct unwinding *unwinding)
{
	const struct wire_sample *sample = unwinding->sample;

	dwflst_perf_sample_getframes(session->dwfl, session->elf, session_pid(engine, session),
				     session_pid(engine, session), sample->stack.data,
				     size_for_libdwfl(&sample->stack), sample->registers.data,
				     sample->registers.n, unwinding->arch->register_mask,
				     sample->abi, callback, arg);
}

/* A second walk, up to the last frame, to read its registers. */
struct second_walk {
	size_t n_left;
	struct stack_end_question *question;
};

static int on_frame_again(Dwfl_Frame *state, void *arg)
{
	struct second_walk *walk = arg;

	if (--walk->n_left)
		return DWARF_CB_OK;
	for (int i = 0; i < walk->question->arch->n_registers; i++)
		walk->question->has_register[i] =
			dwfl_frame_reg(state, i, &walk->question->registers[i]) == 0;
	return DWARF_CB_ABORT;
}

static enum wire_stack_end ask_last_frame(struct engine_dwfl *engine, struct session *session,
					  struct unwinding *unwinding)
{
	const struct wire_frame *last = &unwinding->frames[unwinding->n_frames - 1];
	uint64_t missing = 0;
	struct stack_end_question question = {
		.arch = unwinding->arch,
		.address = frame_code(last),
		.stack_start = unwinding_register(unwinding, unwinding->arch->sp),
		.stack = unwinding->sample->stack,
		.missing = &missing,
	};
	struct second_walk again = { unwinding->n_frames, &question };
	enum wire_stack_end end;

	question.module = dwfl_addrmodule(session->dwfl, question.address);
	end = stack_end_of_rule(&question);
	if (end)
		return end;
	walk_frames(engine, session, on_frame_again, &again, unwinding);
	end = stack_end_of_registers(&question);
	return end == WIRE_stack_end_TRUNCATED && missing
		       ? unwinding_end_without_word(unwinding, missing)
		       : end;
}

/* Why the finished walk stopped. */
static enum wire_stack_end find_end(struct engine_dwfl *engine, struct session *session,
				    struct unwinding *unwinding, uint64_t sp)
{
	enum wire_stack_end end = unwinding->end, of_mapping;

	if (end == WIRE_stack_end_FRAME_LIMIT)
		return end;
	/* An unusable image explains an early stop better. */
	of_mapping = unwinding_end_of_image(unwinding, engine->files);
	if (of_mapping)
		return of_mapping;
	if (!end)
		end = ask_last_frame(engine, session, unwinding);
	if (end == WIRE_stack_end_NO_UNWIND_INFO &&
	    unwinding_is_process_entry(unwinding, engine->files, sp))
		end = WIRE_stack_end_COMPLETE;
	if (end == WIRE_stack_end_COMPLETE)
		unwinding->failed_image = NULL;
	return end;
}

static uint64_t size_of_call_frames(const struct elf_image *file)
{
	struct elf_section section = elf_section_before_first(file->elf);
	uint64_t size = 0;

	while (elf_section_next(&section))
		if (is_call_frames(&section) || !strcmp(section.name, ".eh_frame"))
			size += elf_section_size_in_memory(&section);
	return size;
}

/* libdwfl opens a module's file when it unwinds a frame in it, and keeps what it has read. */
static void track_files(struct engine_dwfl *engine, const struct unwinding *unwinding)
{
	const struct mapping_table *mappings = process_mappings(unwinding->process);

	for (size_t i = 0; i < unwinding->n_frames; i++) {
		const struct wire_frame *frame = &unwinding->frames[i];
		const struct mapping *mapping = mapping_table_find(mappings, frame_code(frame));
		struct elf_image *file;
		struct image *image;

		if (!mapping || pair_map_find(&engine->tracked, mapping->image, 0))
			continue;
		image = image_table_find(engine->files->table, mapping->image);
		file = image ? elf_cache_get(engine->files, image) : NULL;
		if (!file || !elf_cache_reopen(file) ||
		    pair_map_add(&engine->tracked, mapping->image, 0, 1) < 0)
			continue;
		engine->call_frames += size_of_call_frames(file);
	}
}

void engine_dwfl_unwind(struct engine_dwfl *engine, struct unwinding *unwinding)
{
	struct session *session = find_session(engine, unwinding->process);
	struct dwfl_walk walk = { .unwinding = unwinding };

	unwinding->n_frames = unwinding->n_made = 0;
	unwinding->end = 0;
	unwinding->failed_image = NULL;
	if (session && session->version != process_version(session->process))
		report_modules(engine, session);
	if (session && session->elf) {
		walk_frames(engine, session, on_frame, &walk, unwinding);
		track_files(engine, unwinding);
	}
	if (unwinding->n_frames == 0) {
		unwinding_add_sampled(unwinding);
		walk.sp = unwinding_register(unwinding, unwinding->arch->sp);
	}
	if (session && session->elf)
		unwinding->end = find_end(engine, session, unwinding, walk.sp);
	else
		unwinding->end = unwinding_end_of_image(unwinding, engine->files);
	if (!unwinding->end)
		unwinding->end = WIRE_stack_end_NO_UNWIND_INFO;
}

/* As struct engine has it. */
static int new_engine(const struct engine_sources *sources, void **ret)
{
	struct engine_dwfl *engine;
	int r = engine_dwfl_new(sources->files, &engine);

	if (r == 0)
		*ret = engine;
	return r;
}

static void free_engine(void *state)
{
	engine_dwfl_free(state);
}

static unsigned int unwind(void *state, struct unwinding *unwinding)
{
	engine_dwfl_unwind(state, unwinding);
	return ENGINE_ANSWERED;
}

static void forget_process(void *state, struct process *process)
{
	engine_dwfl_forget(state, process);
}

static void forget_image(void *state, uint64_t image)
{
	engine_dwfl_forget_image(state, image);
}

const struct engine engine_of_elfutils = {
	.name = "dwfl",
	.left_to = "left-to-dwfl",
	.is_of_host = true,
	.new = new_engine,
	.free = free_engine,
	.unwind = unwind,
	.forget_process = forget_process,
	.forget_image = forget_image,
};
