/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile samples of hostile processes. An input is a struct header, the bytes of the captured
 * stack, and either a section of unwind information, which a small ELF file in memory is made for,
 * or a compiled table of that file.
 *
 * The zero bytes after a captured stack (wire.h) are left out: this engine does not use them, and
 * without them a sanitizer detects every read past the end.
 */
#include <elf.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "live-unwinder/engine-table.h"
#include "tests/fuzz/fuzz.h"

enum {
	MODE_TABLE = 1,	      /* a table follows instead of a section */
	MODE_DEBUG_FRAME = 2, /* the section is .debug_frame; else .eh_frame */
	MODE_EXECUTABLE = 4,  /* the file's segment is executable; else it holds no code */
	MODE_HEADER = 8,      /* the file has an .eh_frame_hdr in its segment instead of sections */

	MAPPINGS_MAX = 4,
	REGISTERS_MAX = 17,
	WORDS_CHANGED = 24,
};

/* The only images that exist. */
enum { IMAGE_FILE = 1, IMAGE_ANONYMOUS, IMAGE_DATA, IMAGE_UNAVAILABLE, IMAGE_PENDING };

struct header {
	uint8_t mode;
	uint8_t n_frames_max; /* minus one */
	uint16_t stack_size;
	uint32_t n_mappings;
	uint64_t registers[REGISTERS_MAX];
	struct {
		uint64_t start, length, offset, image;
	} mappings[MAPPINGS_MAX];
	uint64_t entry;
	struct unwind_segment segment;
	uint64_t section_address;
};

/* The ELF file, followed by its unwind information. */
struct file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2]; /* code, .eh_frame_hdr */
	Elf64_Shdr sections[3]; /* null, unwind information, names */
	char names[40];
};

static const char names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";

/* Everything that an engine needs. */
struct scene {
	struct stage stage;
	struct image_table images;
	struct elf_cache files;
	struct table_store tables;
	struct engine_table *engine;
	struct process process;
	struct address_space space;
};

static void scene_deinit(struct scene *scene)
{
	engine_table_free(scene->engine);
	table_store_deinit(&scene->tables);
	mapping_table_deinit(&scene->space.mappings);
	image_table_deinit(&scene->images);
	elf_cache_deinit(&scene->files);
	counters_deinit(&scene->stage.run_counters);
	counters_deinit(&scene->stage.counters);
}

static void scene_init(struct scene *scene)
{
	static const struct stage_program program = { .role = STAGE_SINK }; /* no stage follows */
	static const struct table_cache no_cache = { .dir_fd = -1 };
	static const struct wire_hello hello = { 0 }; /* no image server now, … */

	*scene = (struct scene){ .stage.program = &program };
	scene->process.space = &scene->space;
	scene->space.version = 1;
	fuzz_check(elf_cache_init(&scene->files, &scene->stage, &scene->images, &hello) == 0);
	scene->files.client.has_server = true; /* … but the recorded stream had one */
	table_store_init(&scene->tables, &scene->files, &no_cache, TABLE_STORE_WAIT);
	fuzz_check(engine_table_new(&scene->tables, &scene->engine) == 0);
}

static void add_image(struct scene *scene, uint64_t number, enum wire_image_kind kind)
{
	const struct wire_image image = { .image = number, .kind = kind, .path = { "", 0 } };

	fuzz_check(image_table_add(&scene->images, &image) == 0);
}

static void set_data(struct scene *scene, uint64_t image, const void *data, size_t size)
{
	const struct wire_image_data record = { .image = image, .data = { data, size } };

	fuzz_check(image_table_set_data(&scene->images, &record) == 0);
}

static void add_other_images(struct scene *scene)
{
	const struct wire_image_state unavailable = {
		.image = IMAGE_UNAVAILABLE,
		.status = WIRE_image_status_GONE,
	};

	add_image(scene, IMAGE_ANONYMOUS, WIRE_image_kind_ANONYMOUS);
	add_image(scene, IMAGE_DATA, WIRE_image_kind_VDSO);
	set_data(scene, IMAGE_DATA, "not ELF", 7);
	add_image(scene, IMAGE_UNAVAILABLE, WIRE_image_kind_FILE);
	image_table_set_state(&scene->images, &unavailable);
	add_image(scene, IMAGE_PENDING, WIRE_image_kind_FILE);
}

static struct file make_file(const struct header *header, size_t size)
{
	bool is_debug_frame = header->mode & MODE_DEBUG_FRAME;
	bool has_sections = !(header->mode & MODE_HEADER);
	struct file file = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = arch_host()->elf_machine,
			.e_version = EV_CURRENT,
			.e_entry = header->entry,
			.e_phoff = offsetof(struct file, segments),
			.e_shoff = has_sections ? offsetof(struct file, sections) : 0,
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 2,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = has_sections ? 3 : 0,
			.e_shstrndx = has_sections ? 2 : 0,
		},
		.segments[0] = {
			.p_type = PT_LOAD,
			.p_flags = PF_R | (header->mode & MODE_EXECUTABLE ? PF_X : 0),
			.p_offset = header->segment.offset,
			.p_vaddr = header->segment.address,
			.p_filesz = header->segment.size,
			.p_memsz = header->segment.size,
		},
		.segments[1] = {
			.p_type = has_sections ? PT_NULL : PT_GNU_EH_FRAME,
			.p_vaddr = header->section_address,
		},
		.sections[1] = {
			.sh_name = is_debug_frame ? sizeof("\0.eh_frame") : 1,
			.sh_type = SHT_PROGBITS,
			.sh_addr = header->section_address,
			.sh_offset = sizeof(file),
			.sh_size = size,
			.sh_addralign = 1,
		},
		.sections[2] = {
			.sh_name = sizeof("\0.eh_frame\0.debug_frame"),
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct file, names),
			.sh_size = sizeof(names),
			.sh_addralign = 1,
		},
	};

	_Static_assert(sizeof(names) <= sizeof(file.names), "they fit in");
	memcpy(file.names, names, sizeof(names));
	return file;
}

static void add_file(struct scene *scene, const struct header *header, const void *section,
		     size_t size)
{
	struct file file = make_file(header, size);
	_cleanup_free_ uint8_t *bytes = malloc(sizeof(file) + size);

	fuzz_check(bytes);
	memcpy(bytes, &file, sizeof(file));
	memcpy(bytes + sizeof(file), section, size);
	add_image(scene, IMAGE_FILE, WIRE_image_kind_VDSO); /* so that no path is opened */
	set_data(scene, IMAGE_FILE, bytes, sizeof(file) + size);
}

/* Takes ownership of the bytes. Bytes that are no valid table are dropped. */
static void add_table(struct scene *scene, void *bytes, size_t size)
{
	struct stored_table *entry = calloc(1, sizeof(*entry));

	fuzz_check(entry);
	if (!unwind_table_view(bytes, size, &entry->table)) {
		free(bytes);
		free(entry);
		return;
	}
	entry->id = ++scene->tables.n;
	entry->state = TABLE_READY;
	fuzz_check(pair_map_add(&scene->tables.by_image, IMAGE_FILE, 0, (uintptr_t)entry) == 0);
}

static void add_mappings(struct scene *scene, const struct header *header)
{
	for (uint32_t i = 0; i < header->n_mappings && i < MAPPINGS_MAX; i++) {
		const struct mapping mapping = {
			.start = header->mappings[i].start,
			.end = header->mappings[i].start + header->mappings[i].length,
			.offset = header->mappings[i].offset,
			.image = header->mappings[i].image,
			.number = i + 1,
		};

		mapping_table_add(&scene->space.mappings, &mapping); /* fails if impossible */
	}
}

static void check_frame(const struct unwinding *unwinding, const struct wire_frame *frame)
{
	bool is_exact = frame->flags & WIRE_frame_flags_EXACT;
	const struct mapping *mapping = mapping_table_find(process_mappings(unwinding->process),
							   frame->address - !is_exact);

	fuzz_check(!(frame->flags & ~(WIRE_frame_flags_EXACT | WIRE_frame_flags_FRAME_POINTER)));
	fuzz_check(frame->mapping == (mapping ? mapping->number : 0));
}

static void check_answer(const struct unwinding *unwinding)
{
	const uint64_t *registers = unwinding->sample->registers.data;

	fuzz_check(unwinding->n_frames >= 1 && unwinding->n_frames <= unwinding->n_frames_max);
	fuzz_check(unwinding->frames[0].address ==
		   registers[arch_host()->sample_index[arch_host()->pc]]);
	fuzz_check(unwinding->frames[0].flags & WIRE_frame_flags_EXACT);
	for (size_t i = 0; i < unwinding->n_frames; i++)
		check_frame(unwinding, &unwinding->frames[i]);
	fuzz_check(wire_name_text(&wire_names_stack_end, unwinding->end));
	if (unwinding->end == WIRE_stack_end_FRAME_LIMIT)
		fuzz_check(unwinding->n_frames == unwinding->n_frames_max);
	if (unwinding->end == WIRE_stack_end_IMAGE_UNAVAILABLE)
		fuzz_check(unwinding->failed_image);
}

/*
 * A stack in which one word is another one has the answer that it has if nothing is known of
 * earlier stacks.
 */
static void check_changed(struct scene *scene, const struct unwinding *before,
			  const struct wire_sample *sample, uint64_t *word)
{
	_cleanup_free_ struct wire_frame *frames = calloc(before->n_frames_max, sizeof(*frames));
	_cleanup_free_ struct wire_frame *frames_alone =
		calloc(before->n_frames_max, sizeof(*frames));
	struct unwinding changed = *before, alone;
	uint64_t old = *word;
	enum engine_table_outcome outcome;

	*word ^= 1ULL << (old & 15);
	changed.sample = sample;
	changed.frames = frames;
	alone = changed;
	alone.frames = frames_alone;
	alone.is_alone = true;
	outcome = engine_table_unwind(scene->engine, &changed);
	fuzz_check(engine_table_unwind(scene->engine, &alone) == outcome);
	if (outcome == ENGINE_TABLE_OK)
		fuzz_check(unwinding_is_same(&changed, &alone) && changed.last_fp == alone.last_fp);
	*word = old;
}

/* Unwinds twice: with empty caches, then with the filled ones. Then with some other words. */
static void check_sample(struct scene *scene, const struct wire_sample *sample, size_t n_frames_max)
{
	_cleanup_free_ struct wire_frame *frames = calloc(n_frames_max, sizeof(*frames));
	_cleanup_free_ struct wire_frame *frames_again = calloc(n_frames_max, sizeof(*frames));
	struct unwinding unwinding = {
		.arch = arch_host(),
		.sample = sample,
		.process = &scene->process,
		.frames = frames,
		.n_frames_max = n_frames_max,
	};
	struct unwinding again = unwinding;
	enum engine_table_outcome outcome = engine_table_unwind(scene->engine, &unwinding);

	again.frames = frames_again;
	fuzz_check(outcome < ENGINE_TABLE_OUTCOMES);
	fuzz_check(engine_table_unwind(scene->engine, &again) == outcome);
	if (outcome != ENGINE_TABLE_OK)
		return;
	check_answer(&unwinding);
	fuzz_check(unwinding_is_same(&again, &unwinding) && again.last_fp == unwinding.last_fp);
	for (size_t i = 0; i < WORDS_CHANGED && (i + 1) * sizeof(uint64_t) <= sample->stack.size;
	     i++)
		check_changed(scene, &unwinding, sample, (uint64_t *)sample->stack.data + i);
}

/* Without the stack there is always an answer, whatever the words of it are. */
static void check_words(struct scene *scene, const struct wire_sample *sample, size_t n_frames_max)
{
	_cleanup_free_ struct wire_frame *frames = calloc(n_frames_max, sizeof(*frames));
	const struct wire_sample without_stack = {
		.abi = sample->abi,
		.registers = sample->registers,
	};
	struct unwinding unwinding = {
		.arch = arch_host(),
		.sample = &without_stack,
		.process = &scene->process,
		.words = { sample->stack.data,
			   sample->stack.size / sizeof(struct wire_stack_word) },
		.frames = frames,
		.n_frames_max = n_frames_max,
	};

	if (!unwinding.words.n)
		return;
	fuzz_check(engine_table_unwind(scene->engine, &unwinding) == ENGINE_TABLE_OK);
	check_answer(&unwinding);
	check_changed(scene, &unwinding, &without_stack, (uint64_t *)sample->stack.data + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	_cleanup_(scene_deinit) struct scene scene;
	_cleanup_free_ void *stack = NULL, *rest = NULL;
	struct wire_sample sample = { .abi = 2 }; /* PERF_SAMPLE_REGS_ABI_64 */
	struct header header;
	size_t rest_size;

	fuzz_take(&input, &header, sizeof(header));
	stack = fuzz_take_block(&input, header.stack_size, &sample.stack.size);
	rest = fuzz_take_block(&input, SIZE_MAX, &rest_size);
	sample.stack.data = stack;
	sample.registers = (struct wire_addrs){ header.registers, REGISTERS_MAX };
	fuzz_check(arch_host()->n_registers == REGISTERS_MAX);

	scene_init(&scene);
	add_other_images(&scene);
	add_mappings(&scene, &header);
	add_file(&scene, &header, rest, header.mode & MODE_TABLE ? 0 : rest_size);
	if (header.mode & MODE_TABLE)
		add_table(&scene, take_pointer(rest), rest_size);
	check_sample(&scene, &sample, header.n_frames_max + 1);
	check_words(&scene, &sample, header.n_frames_max + 1);
	return 0;
}
