/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uthash.h>

#include "common/cleanup.h"
#include "perf-source/images.h"
#include "perf-source/proc.h"

struct image_entry {
	UT_hash_handle hh;
	uint64_t image;
	uint64_t generation;
	char key[]; /* "major:minor:inode:path" */
};

void images_init(struct images *images, struct stage *stage, int server_fd)
{
	*images = (struct images){
		.stage = stage,
		.n_numbers = IMAGE_FIRST,
		.server_fd = server_fd,
	};
}

static void forget_all(struct images *images)
{
	struct image_entry *entry, *next;

	HASH_ITER(hh, images->by_file, entry, next)
	{
		HASH_DEL(images->by_file, entry);
		free(entry);
	}
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

int images_add_kernel(struct images *images)
{
	struct image_source kernel = { .path = "[kernel]" };

	return put_image(images, IMAGE_KERNEL, WIRE_image_kind_KERNEL, &kernel, 8);
}

/*
 * The end of an ELF image in memory: its section headers come last in a vDSO. 0 if it does not
 * look like one.
 */
static size_t vdso_size(const Elf64_Ehdr *header)
{
	size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || size > 128 * 1024)
		return 0;
	return size;
}

/*
 * The kernel maps the same vDSO into each process, so ours is everybody's. (One of a 32-bit task
 * is another; its samples are not unwound.)
 */
static int add_vdso(struct images *images)
{
	const Elf64_Ehdr *header = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct image_source vdso = { .path = "[vdso]" };
	struct wire_image_data data = { .image = IMAGE_VDSO };
	int r;

	if (images->vdso_is_known)
		return 0;
	images->vdso_is_known = true;
	r = put_image(images, IMAGE_VDSO, WIRE_image_kind_VDSO, &vdso, 6);
	if (r < 0 || !header)
		return r;
	data.data = (struct wire_blob){ header, vdso_size(header) };
	return stage_put(images->stage, WIRE_RECORD_image_data, &data);
}

/* "", "[heap]", "//anon", "/dev/zero", … and whatever JIT compilers use. */
bool images_is_anonymous(const struct image_source *source)
{
	static const char *const prefixes[] = { "/dev/zero", "/anon_hugepage", "/SYSV" };

	if (!strcmp(source->path, "[vdso]"))
		return false;
	if (source->path[0] != '/' || source->path[1] == '/' || source->inode == 0)
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(source->path, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The path without the " (deleted)" that the kernel appends. */
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
 * Asks the image server to open a new image. The server's main loop never waits for a file, so
 * this never waits long; if the server has died, images are opened by path downstream.
 */
static void ask_server(struct images *images, uint64_t number, const struct image_source *source,
		       size_t size)
{
	_Alignas(8) char record[PROC_PATH_MAX + 256];
	struct wire_image_open request = {
		.image = number,
		.pid = source->pid,
		.device_major = source->major,
		.device_minor = source->minor,
		.inode = source->inode,
		.start = source->start,
		.length = source->length,
		.path = { source->path, size },
	};
	size_t used;

	if (images->server_fd < 0)
		return;
	used = wire_encode(wire_type(WIRE_RECORD_image_open), &request, record, NULL);
	if (send(images->server_fd, record, used, MSG_NOSIGNAL) < 0)
		++*counters_get(&images->stage->counters, "images", "not-asked-for");
}

static int add_file(struct images *images, const char *key, const struct image_source *source,
		    size_t size, uint64_t *ret_image)
{
	struct image_entry *entry = malloc(sizeof(*entry) + strlen(key) + 1);

	if (!entry)
		return -ENOMEM;
	if (HASH_COUNT(images->by_file) >= IMAGES_MAX) {
		forget_all(images);
		images->n_forgotten++;
	}
	entry->image = images->n_numbers++;
	entry->generation = source->generation;
	strcpy(entry->key, key);
	HASH_ADD_STR(images->by_file, key, entry);
	*ret_image = entry->image;
	ask_server(images, entry->image, source, size);
	return put_image(images, entry->image, WIRE_image_kind_FILE, source, size);
}

static int find_file(struct images *images, const struct image_source *source, size_t size,
		     uint64_t *ret_image)
{
	char key[PROC_PATH_MAX + 64];
	struct image_entry *entry;

	snprintf(key, sizeof(key), "%" PRIx32 ":%" PRIx32 ":%" PRIu64 ":%.*s", source->major,
		 source->minor, source->inode, (int)size, source->path);
	HASH_FIND_STR(images->by_file, key, entry);
	/* The same inode number used again has another generation; /proc does not tell any. */
	if (entry && entry->generation && source->generation &&
	    entry->generation != source->generation) {
		HASH_DEL(images->by_file, entry);
		free(entry);
		entry = NULL;
	}
	if (!entry)
		return add_file(images, key, source, size, ret_image);
	if (!entry->generation)
		entry->generation = source->generation;
	*ret_image = entry->image;
	return 0;
}

int images_find(struct images *images, const struct image_source *source, uint64_t *ret_image,
		uint32_t *ret_flags)
{
	size_t size = path_size(source->path, ret_flags);

	if (!strcmp(source->path, "[vdso]")) {
		*ret_image = IMAGE_VDSO;
		return add_vdso(images);
	}
	if (images_is_anonymous(source)) {
		*ret_image = images->n_numbers++;
		return put_image(images, *ret_image, WIRE_image_kind_ANONYMOUS, source, size);
	}
	return find_file(images, source, size, ret_image);
}

int images_take_states(struct images *images)
{
	_Alignas(8) char record[256];
	struct wire_image_state state;
	ssize_t size;
	int r;

	while (images->server_fd >= 0) {
		size = recv(images->server_fd, record, sizeof(record), MSG_DONTWAIT);
		if (size <= 0)
			return 0;
		if (wire_decode(wire_type(WIRE_RECORD_image_state), record, size, 0, &state))
			continue;
		r = stage_put(images->stage, WIRE_RECORD_image_state, &state);
		if (r < 0)
			return r;
	}
	return 0;
}
