/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "perf-source/bpf/sample-program.h"
#include "perf-source/bpf/sample.skel.h"
#include "perf-source/bpf/unwind-program.h"

enum { WORD = sizeof(uint64_t), PAGE = 4096 };

/* Memory of an array is mapped in whole pages. */
static size_t mapped_size(size_t size)
{
	return (size + PAGE - 1) & -(size_t)PAGE;
}

static void *map_array(const struct bpf_map *map, size_t size)
{
	void *memory = mmap(NULL, mapped_size(size), PROT_READ | PROT_WRITE, MAP_SHARED,
			    bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int unwind_program_open(struct unwind_program *unwind, const struct sample_program *program)
{
	const struct sample_bpf *skeleton = program->skeleton;

	*unwind = (struct unwind_program){
		.program = program,
		.mappings = map_array(skeleton->maps.unwind_mappings,
				      UNWIND_MAPPINGS_MAX * sizeof(*unwind->mappings)),
		.images = map_array(skeleton->maps.unwind_images,
				    UNWIND_IMAGES_MAX * sizeof(*unwind->images)),
	};
	if (unwind->mappings && unwind->images)
		return 0;
	unwind_program_close(unwind);
	return -ENOMEM;
}

void unwind_program_close(struct unwind_program *unwind)
{
	if (unwind->mappings)
		munmap(unwind->mappings,
		       mapped_size(UNWIND_MAPPINGS_MAX * sizeof(*unwind->mappings)));
	if (unwind->images)
		munmap(unwind->images, mapped_size(UNWIND_IMAGES_MAX * sizeof(*unwind->images)));
	*unwind = (struct unwind_program){ 0 };
}

int unwind_program_set(const struct unwind_program *unwind, uint32_t pid,
		       const struct unwind_process *process)
{
	return bpf_map__update_elem(unwind->program->skeleton->maps.unwind_processes, &pid,
				    sizeof(pid), process, sizeof(*process), BPF_ANY);
}

void unwind_program_remove(const struct unwind_program *unwind, uint32_t pid)
{
	bpf_map__delete_elem(unwind->program->skeleton->maps.unwind_processes, &pid, sizeof(pid),
			     0);
}

/* Copies bytes into an array of words. */
static int fill(int fd, const void *bytes, size_t size)
{
	void *memory = mmap(NULL, mapped_size(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	memcpy(memory, bytes, size);
	munmap(memory, mapped_size(size));
	return 0;
}

int unwind_program_add_table(const struct unwind_program *unwind, uint32_t image, const void *bytes,
			     size_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_table", sizeof(uint32_t), WORD,
				(size + WORD - 1) / WORD, &options);
	int r;

	if (fd < 0)
		return fd;
	r = fill(fd, bytes, size);
	if (r == 0)
		r = bpf_map__update_elem(unwind->program->skeleton->maps.unwind_tables, &image,
					 sizeof(image), &fd, sizeof(fd), BPF_ANY);
	close(fd);
	return r;
}

void unwind_program_remove_table(const struct unwind_program *unwind, uint32_t image)
{
	bpf_map__delete_elem(unwind->program->skeleton->maps.unwind_tables, &image, sizeof(image),
			     0);
}

uint64_t unwind_program_count_left(const struct sample_program *program, enum unwind_left why)
{
	return program->skeleton ? program->skeleton->bss->n_left[why] : 0;
}
