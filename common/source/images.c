/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/descriptor-limit.h"
#include "common/base/hash-table.h"
#include "common/image-server/image-message.h"
#include "common/proc/proc.h"
#include "common/source/images.h"
#include "common/stream/build-id.h"
#include "common/stream/file-id.h"
#include "common/stream/jitdump-path.h"

enum { KEY_MAX = PROC_PATH_MAX + 64 + 2 * WIRE_BUILD_ID_MAX };

struct image_entry {
	UT_hash_handle hh;	  /* by key */
	UT_hash_handle hh_number; /* by image */
	uint64_t image;
	uint64_t successor;	/* the image that replaced it, 0: none */
	uint64_t used_at;	/* by a mapping, at the last sweep; UINT64_MAX: no sweep yet */
	bool is_file;		/* else it is in `by_number` only, and has no key */
	struct image_file file; /* as the server opened it */
	uint64_t asked_at;	/* CLOCK_MONOTONIC time of the request to the server */
	bool is_mapped_again;	/* since the request, which is not answered yet */
	bool has_map_process;	/* map_pid is set */
	uint32_t map_pid;	/* arguments of images_offer_map() */
	uint64_t map_began;
	/*
	 * Of a file; its path points into `key`, and it has no build-id. Task, start and length are
	 * of its last mapping before the server answered.
	 */
	struct image_source source;
	char key[]; /* "major:minor:inode:", the build-id if known, the path */
};

void images_init(struct images *images, struct stage *stage, int server_fd)
{
	*images = (struct images){
		.stage = stage,
		.n_numbers = IMAGE_FIRST,
		.highest_fd = (int)descriptor_limit_raise() - IMAGES_SPARE_FDS,
		.server_fd = server_fd,
	};
}

static void set_status(struct images *images, struct image_entry *entry,
		       enum wire_image_status status)
{
	images->n_gone -= entry->file.status == WIRE_image_status_GONE;
	images->n_gone += status == WIRE_image_status_GONE;
	entry->file.status = status;
}

static void close_file(struct image_entry *entry)
{
	if (entry->file.fd >= 0)
		close(entry->file.fd);
	entry->file.fd = -1;
}

static void forget_one(struct images *images, struct image_entry *entry)
{
	struct image_entry *current = NULL;

	if (images->special == entry->image)
		images->special = 0;
	if (entry->is_file)
		HASH_FIND_STR(images->by_file, entry->key, current);
	if (current == entry)
		HASH_DELETE(hh, images->by_file, entry);
	HASH_DELETE(hh_number, images->by_number, entry);
	set_status(images, entry, 0);
	close_file(entry);
	free(entry);
}

static void forget_all(struct images *images)
{
	struct image_entry *entry, *next;

	HASH_ITER(hh_number, images->by_number, entry, next)
	forget_one(images, entry);
}

void images_deinit(struct images *images)
{
	forget_all(images);
	if (images->server_fd >= 0)
		close(images->server_fd);
	images->server_fd = -1;
}

static int put_image(struct images *images, uint64_t number, enum wire_image_kind kind,
		     const struct image_source *source, size_t path_size)
{
	struct wire_image image = {
		.image = number,
		.kind = kind,
		.device_major = source->major,
		.device_minor = source->minor,
		.inode = source->inode,
		.generation = source->generation,
		.path = { source->path, path_size },
	};

	return stage_put(images->stage, WIRE_RECORD_image, &image);
}

int images_add_kernel(struct images *images, struct wire_blob build_id)
{
	struct image_source kernel = { .path = "[kernel]" };
	struct wire_image_id id = { .image = IMAGE_KERNEL, .build_id = build_id };
	struct file_id file_id;
	int r = put_image(images, IMAGE_KERNEL, WIRE_image_kind_KERNEL, &kernel, 8);

	if (r < 0 || !build_id.size)
		return r;
	if (file_id_of_kernel(build_id.data, build_id.size, &file_id))
		file_id_text(&file_id, id.file_id);
	return stage_put(images->stage, WIRE_RECORD_image_id, &id);
}

/* The size of an ELF file in memory: a vDSO ends with its section headers. 0: not a vDSO. */
static size_t vdso_size(const Elf64_Ehdr *header)
{
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || size > 128 * 1024)
		return 0;
	return size;
}

struct wire_blob images_vdso(void)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);

	return (struct wire_blob){ header, header ? vdso_size(header) : 0 };
}

/*
 * The kernel maps one vDSO into all 64-bit processes, so ours is theirs. (That of 32-bit tasks
 * differs; their samples are not unwound.)
 */
static int add_vdso(struct images *images)
{
	struct image_source vdso = { .path = "[vdso]" };
	struct wire_image_data data = { IMAGE_VDSO, images_vdso() };
	int r;

	if (images->vdso_is_known)
		return 0;
	images->vdso_is_known = true;
	r = put_image(images, IMAGE_VDSO, WIRE_image_kind_VDSO, &vdso, 6);
	if (r < 0 || !data.data.size || images->is_elsewhere)
		return r;
	return stage_put(images->stage, WIRE_RECORD_image_data, &data);
}

/*
 * Where the kernel executes single instructions that uprobes replaced. Each belongs to a function,
 * but nothing there shows to which.
 */
static bool is_special(const struct image_source *source)
{
	return !strcmp(source->path, "[uprobes]");
}

/* "", "[heap]", "//anon", "/dev/zero", … and whatever else JIT compilers use. */
bool images_is_anonymous(const struct image_source *source)
{
	static const char *const prefixes[] = { "/dev/zero", "/anon_hugepage", "/SYSV" };

	if (!strcmp(source->path, "[vdso]") || is_special(source))
		return false;
	if (source->path[0] != '/' || source->path[1] == '/' ||
	    (source->inode == 0 && !source->build_id_size))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(source->path, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The size of the path without the " (deleted)" that the kernel appends. */
static size_t path_size(const char *path, uint32_t *ret_flags)
{
	static const char suffix[] = " (deleted)";
	size_t size = strnlen(path, PROC_PATH_MAX), suffix_size = sizeof(suffix) - 1;

	*ret_flags = 0;
	if (size > suffix_size && !memcmp(path + size - suffix_size, suffix, suffix_size)) {
		*ret_flags = WIRE_mapping_flags_DELETED;
		size -= suffix_size;
	}
	return size;
}

/*
 * Does not block for long, because the server's main thread never waits for a file. If the server
 * has died, later stages open images by path.
 */
static void ask_server(struct images *images, uint16_t type, const void *request, int flags)
{
	_Alignas(8) char record[PROC_PATH_MAX + 256];
	size_t size = wire_encode(wire_type(type), request, record, NULL);
	uint64_t begun = clock_now(CLOCK_MONOTONIC);

	if (images->server_fd < 0)
		return;
	if (image_message_ask(images->server_fd, record, size, flags) < 0 && !flags)
		++*counters_get(&images->stage->counters, "images", "not-asked-for");
	blocked_time_add(&images->blocked, begun);
}

/* Requests a new image, which was image `replaces` until its file was written to. */
static void ask_for_file(struct images *images, uint64_t number, const struct image_source *source,
			 size_t size, uint64_t replaces)
{
	struct wire_image_open request = {
		.image = number,
		.pid = source->task,
		.device_major = source->major,
		.device_minor = source->minor,
		.inode = source->inode,
		.start = source->start,
		.length = source->length,
		.path = { source->path, size },
		.replaces = replaces,
	};

	ask_server(images, WIRE_RECORD_image_open, &request, 0);
}

/* Announces a process while it lives: code is sampled before its map is requested. */
static void ask_for_map(struct images *images, uint64_t number, uint32_t pid, uint64_t began)
{
	const struct wire_map_open request = { number, pid, began };

	if (pid && !images->is_elsewhere)
		ask_server(images, WIRE_RECORD_map_open, &request, 0);
}

static int add_entry(struct images *images, const char *key, struct image_entry **ret)
{
	struct image_entry *entry = calloc(1, sizeof(*entry) + strlen(key) + 1);

	if (!entry)
		return -ENOMEM;
	if (HASH_CNT(hh_number, images->by_number) >= IMAGES_MAX) {
		forget_all(images);
		++*counters_get(&images->stage->counters, "images", "forgotten-all");
	}
	entry->image = images->n_numbers++;
	entry->used_at = UINT64_MAX;
	entry->file.fd = -1;
	strcpy(entry->key, key);
	HASH_ADD(hh_number, images->by_number, image, sizeof(entry->image), entry);
	if (!HASH_HAS(hh_number, entry)) {
		free(entry);
		return -ENOMEM;
	}
	*ret = entry;
	return 0;
}

static int add_file(struct images *images, const char *key, const struct image_source *source,
		    size_t size, uint64_t replaces, struct image_entry **ret)
{
	struct image_entry *entry;
	int r = add_entry(images, key, &entry);

	if (r < 0)
		return r;
	entry->is_file = true;
	entry->source = *source;
	entry->source.path = entry->key + strlen(key) - size;
	entry->source.build_id_size = 0;
	HASH_ADD_STR(images->by_file, key, entry);
	if (!HASH_HAS(hh, entry)) {
		HASH_DELETE(hh_number, images->by_number, entry);
		free(entry);
		return -ENOMEM;
	}
	*ret = entry;
	entry->asked_at = clock_now(CLOCK_MONOTONIC);
	ask_for_file(images, entry->image, source, size, replaces);
	r = put_image(images, entry->image, WIRE_image_kind_FILE, source, size);
	if (r < 0 || !source->build_id_size)
		return r;
	return stage_put(images->stage, WIRE_RECORD_image_id,
			 &(struct wire_image_id){
				 entry->image,
				 { source->build_id, source->build_id_size },
			 });
}

static void offer_map(struct images *images, struct image_entry *entry, uint32_t pid,
		      uint64_t began)
{
	entry->has_map_process = true;
	entry->map_pid = pid;
	entry->map_began = began;
	ask_for_map(images, entry->image | IMAGE_MESSAGE_MAP_OF, pid, began);
}

/* Gives a changed file a new image, for all processes. */
static int replace(struct images *images, const char *key, struct image_entry *entry,
		   const struct image_source *source, size_t size, struct image_entry **ret)
{
	bool has_map_process = entry->has_map_process;
	uint32_t map_pid = entry->map_pid;
	uint64_t map_began = entry->map_began;
	uint64_t written = entry->file.fd >= 0 ? entry->image : 0; /* else it was gone */
	int r;

	HASH_DELETE(hh, images->by_file, entry);
	set_status(images, entry, 0);
	close_file(entry);
	entry->successor = images->n_numbers;
	images->n_replaced++;
	r = add_file(images, key, source, size, written, ret);
	if (r == 0 && has_map_process)
		offer_map(images, *ret, map_pid, map_began);
	return r;
}

/* A reused inode number has another generation, which /proc does not show. */
static bool is_another_inode(const struct image_entry *entry, const struct image_source *source)
{
	uint64_t known = entry->source.generation;

	return known && source->generation && known != source->generation;
}

static bool has_changed(struct image_entry *entry)
{
	return entry->file.fd >= 0 && !jitdump_path_is(entry->source.path) &&
	       image_file_has_changed(&entry->file);
}

/*
 * The file was unmapped before the server opened it, and is mapped again: a deleted file can be
 * opened only while it is mapped. It becomes another image, as the first was reported GONE.
 */
static bool is_worth_another_look(const struct image_entry *entry)
{
	return entry->file.status == WIRE_image_status_GONE &&
	       clock_now(CLOCK_MONOTONIC) - entry->asked_at >= IMAGES_ASK_AGAIN_NS;
}

/* The part of a key that identifies a file regardless of its path. */
static int put_file(char key[static KEY_MAX], const struct image_source *source)
{
	return snprintf(key, KEY_MAX, "%" PRIx32 ":%" PRIx32 ":%" PRIu64 ":", source->major,
			source->minor, source->inode);
}

/* The current image of a file, or NULL; and its present or future key. */
static struct image_entry *find_entry(const struct images *images,
				      const struct image_source *source, size_t size,
				      char key[static KEY_MAX])
{
	char build_id[BUILD_ID_TEXT];
	struct image_entry *entry;
	int n;

	n = put_file(key, source);
	snprintf(key + n, KEY_MAX - n, "%s%.*s",
		 build_id_text(source->build_id, source->build_id_size, build_id), (int)size,
		 source->path);
	HASH_FIND_STR(images->by_file, key, entry);
	return entry;
}

uint64_t images_known(const struct images *images, const struct image_source *source)
{
	char key[KEY_MAX];
	const struct image_entry *entry;
	uint32_t flags;

	if (!strcmp(source->path, "[vdso]"))
		return images->vdso_is_known ? IMAGE_VDSO : 0;
	if (is_special(source))
		return images->special;
	entry = find_entry(images, source, path_size(source->path, &flags), key);
	return entry && !is_another_inode(entry, source) &&
			       entry->file.status != WIRE_image_status_GONE
		       ? entry->image
		       : 0;
}

static int find_file(struct images *images, const struct image_source *source, size_t size,
		     uint64_t *ret_image)
{
	char key[KEY_MAX];
	struct image_entry *entry = find_entry(images, source, size, key);
	int r = 0;

	if (entry && is_another_inode(entry, source)) { /* existing mappings keep the old image */
		HASH_DELETE(hh, images->by_file, entry);
		close_file(entry);
		entry = NULL;
	}
	if (!entry) {
		r = add_file(images, key, source, size, 0, &entry);
	} else if (has_changed(entry) || is_worth_another_look(entry)) {
		r = replace(images, key, entry, source, size, &entry);
	} else if (!entry->file.status) { /* in case the server finds that it was gone */
		entry->source.task = source->task;
		entry->source.start = source->start;
		entry->source.length = source->length;
		entry->is_mapped_again = true;
	}
	if (r < 0)
		return r;
	if (!entry->source.generation)
		entry->source.generation = source->generation;
	*ret_image = entry->image;
	return 0;
}

/* Gives a changed file that no mmap event named a new image; requires fewer than IMAGES_MAX. */
static int replace_as_it_was(struct images *images, struct image_entry *entry)
{
	const struct image_source *source = &entry->source;

	return replace(images, entry->key, entry, source, strlen(source->path), &entry);
}

int images_check(struct images *images)
{
	struct image_entry *entry, *next;
	int r = 0;

	HASH_ITER(hh, images->by_file, entry, next)
	{
		if (r < 0 || HASH_CNT(hh_number, images->by_number) >= IMAGES_MAX)
			break;
		if (has_changed(entry))
			r = replace_as_it_was(images, entry);
	}
	return r;
}

static struct image_entry *find_number(const struct images *images, uint64_t image)
{
	struct image_entry *entry;

	HASH_FIND(hh_number, images->by_number, &image, sizeof(image), entry);
	return entry;
}

bool images_have_changed(const struct images *images, uint64_t image)
{
	struct image_entry *entry = find_number(images, image);

	return entry && has_changed(entry);
}

void images_offer_map(struct images *images, uint64_t image, uint32_t pid, uint64_t began)
{
	struct image_entry *entry = find_number(images, image);

	if (entry && !entry->has_map_process)
		offer_map(images, entry, pid, began);
}

uint64_t images_current(const struct images *images, uint64_t image)
{
	const struct image_entry *entry = find_number(images, image);

	while (entry && entry->successor) {
		image = entry->successor;
		entry = find_number(images, image);
	}
	return image;
}

int images_add_anonymous(struct images *images, uint32_t pid, uint64_t began, uint64_t *ret_image)
{
	static const char name[] = "//anon"; /* as perf calls it */
	struct image_source source = { .path = name };
	struct image_entry *entry;
	int r = add_entry(images, "", &entry);

	if (r < 0)
		return r;
	*ret_image = entry->image;
	ask_for_map(images, entry->image, pid, began);
	return put_image(images, *ret_image, WIRE_image_kind_ANONYMOUS, &source, strlen(name));
}

int images_add_recording(struct images *images, const char *path, const struct stat *status,
			 uint64_t *ret_image)
{
	const struct image_source source = {
		.major = major(status->st_dev),
		.minor = minor(status->st_dev),
		.inode = status->st_ino,
		.path = path,
	};
	const struct wire_image_state state = {
		.image = images->n_numbers,
		.status = WIRE_image_status_OPEN,
		.size = status->st_size,
		.modified = clock_nanoseconds(status->st_mtim),
	};
	int r = put_image(images, state.image, WIRE_image_kind_RECORDING, &source, strlen(path));

	*ret_image = images->n_numbers++;
	return r < 0 ? r : stage_put(images->stage, WIRE_RECORD_image_state, &state);
}

int images_add_scripts(struct images *images, enum script_language language)
{
	const struct image_source source = { .path = script_path(language) };

	if (images->scripts[language])
		return 0;
	images->scripts[language] = images->n_numbers++;
	return put_image(images, images->scripts[language], WIRE_image_kind_SCRIPT, &source,
			 strlen(source.path));
}

void images_use(struct images *images, uint64_t image, uint64_t time)
{
	struct image_entry *entry = find_number(images, image);

	if (entry)
		entry->used_at = time;
}

/* An image that no sweep has seen yet counts as used. */
static bool is_unused(struct image_entry *entry, uint64_t since, uint64_t time)
{
	if (entry->used_at == UINT64_MAX)
		entry->used_at = time;
	return entry->used_at < since;
}

int images_end_unused(struct images *images, uint64_t since, uint64_t time)
{
	struct image_entry *entry, *next;
	int r = 0;

	HASH_ITER(hh_number, images->by_number, entry, next)
	{
		const struct wire_image_exit record = { entry->image, time };

		if (!is_unused(entry, since, time))
			continue;
		/* If that fails, the server keeps the image a little longer. */
		ask_server(images, WIRE_RECORD_image_exit, &record, MSG_DONTWAIT);
		forget_one(images, entry);
		r = stage_put(images->stage, WIRE_RECORD_image_exit, &record);
		if (r < 0)
			break;
	}
	return r;
}

/* One image for all processes. */
static int find_special(struct images *images, const struct image_source *source, size_t size,
			uint64_t *ret_image)
{
	struct image_source memory = { .path = source->path };
	struct image_entry *entry;
	int r = 0;

	if (!images->special) {
		r = add_entry(images, "", &entry);
		if (r < 0)
			return r;
		images->special = entry->image;
		r = put_image(images, entry->image, WIRE_image_kind_SPECIAL, &memory, size);
	}
	*ret_image = images->special;
	return r;
}

int images_find(struct images *images, const struct image_source *source, uint64_t *ret_image,
		uint32_t *ret_flags)
{
	size_t size = path_size(source->path, ret_flags);

	if (!strcmp(source->path, "[vdso]")) {
		*ret_image = IMAGE_VDSO;
		return add_vdso(images);
	}
	return is_special(source) ? find_special(images, source, size, ret_image)
				  : find_file(images, source, size, ret_image);
}

/* Whether the file had no name when the server opened it. */
static bool is_nameless(int fd, const struct wire_image_state *state)
{
	struct stat now;

	return fstatat(fd, "", &now, AT_EMPTY_PATH | AT_STATX_DONT_SYNC) == 0 && !now.st_nlink &&
	       clock_nanoseconds(now.st_ctim) == state->changed;
}

/* Keeps the descriptor of a file, unless too many are open. Takes `fd` over. */
static void watch(struct images *images, const struct wire_image_state *state, int fd)
{
	_cleanup_fd_ int owned = fd;
	struct image_entry *entry = find_number(images, state->image);

	if (!entry || entry->successor || entry->file.fd >= 0)
		return;
	if (fd < 0 || fd > images->highest_fd) {
		set_status(images, entry, state->status);
		if (state->status == WIRE_image_status_OPEN)
			++*counters_get(&images->stage->counters, "images", "not-watched");
		return;
	}
	entry->file = (struct image_file){
		.fd = take_fd(&owned),
		.status = state->status,
		.state = {
			.size = state->size,
			.modified = state->modified,
			.changed = state->changed,
			.is_nameless = is_nameless(fd, state),
		},
	};
}

bool images_is_memory(const struct images *images, uint64_t image)
{
	const struct image_entry *entry = find_number(images, image);

	return entry && !entry->is_file && image != images->special;
}

bool images_is_file(const struct images *images, uint64_t image)
{
	const struct image_entry *entry = find_number(images, image);

	return entry && entry->is_file;
}

/* The last component of a path of that size. */
static const char *last_part(const char *path, size_t size)
{
	const char *slash = memrchr(path, '/', size);

	return slash ? slash + 1 : path;
}

bool images_may_be_file(const struct images *images, uint64_t image,
			const struct image_source *source)
{
	const struct image_entry *entry = find_number(images, image);
	char file[KEY_MAX];
	int n = put_file(file, source);
	uint32_t flags;
	size_t size = path_size(source->path, &flags);
	const char *name = last_part(source->path, size), *known;

	if (!entry || !entry->is_file)
		return false;
	known = last_part(entry->source.path, strlen(entry->source.path));
	size -= name - source->path;
	return !strncmp(entry->key, file, n) ||
	       (strlen(known) == size && !memcmp(known, name, size));
}

int images_descriptor(const struct images *images, uint64_t image)
{
	const struct image_entry *entry = find_number(images, image);

	if (!entry || !entry->is_file)
		return -ENOENT;
	if (!entry->file.status && images->server_fd >= 0)
		return -EAGAIN;
	return entry->file.fd >= 0 ? entry->file.fd : -ENOENT;
}

/*
 * Requests a file again that was gone when the server opened it, but has been mapped again since
 * the request.
 */
static int look_where_it_is_now(struct images *images, uint64_t image)
{
	struct image_entry *entry = find_number(images, image), *current;

	if (!entry || !entry->is_mapped_again || entry->file.status != WIRE_image_status_GONE ||
	    HASH_CNT(hh_number, images->by_number) >= IMAGES_MAX)
		return 0;
	HASH_FIND_STR(images->by_file, entry->key, current);
	return current == entry ? replace_as_it_was(images, entry) : 0;
}

int images_take_states(struct images *images)
{
	struct wire_image_state state;
	int fd, r;

	while (images->server_fd >= 0) {
		r = image_message_receive(images->server_fd, MSG_DONTWAIT, &state, &fd);
		if (r == -EBADMSG)
			continue;
		if (r < 0)
			return 0;
		watch(images, &state, fd);
		r = stage_put(images->stage, WIRE_RECORD_image_state, &state);
		if (r == 0)
			r = look_where_it_is_now(images, state.image);
		if (r < 0)
			return r;
	}
	return 0;
}
