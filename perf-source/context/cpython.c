/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where CPython has the frames of a thread. The layouts are those of its headers
 * (Include/internal/pycore_frame.h, pycore_runtime.h, cpython/code.h and pystate.h of 3.11, 3.12
 * and 3.13), which do not change within a minor version. Builds may differ, so the key of the
 * thread states counts only if the function that reads it refers to it.
 */
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf-source/context/runtime.h"

enum {
	CODE_READ_MAX = 128, /* bytes of a function that are looked at */
	PYTHON_3 = 3,
	FRAMES_MAX = 512,
	CFRAMES_MAX = 64,
	CODE_WINDOW = 200, /* of a code object: its fixed part */
	FRAME_WINDOW = 72,
	CFRAME_WINDOW = 24,
	QUALNAME_READ = 304, /* of a string: its head and 255 characters */
	FILENAME_READ = 304,
	LINETABLE_READ = 1536,
	BYTES_HEAD = 32,
};

enum { NONE = -1 };

/* Offsets in bytes; NONE: this version has no such field. */
struct cpython_layout {
	uint8_t minor;
	int key;		 /* Py_tss_t in _PyRuntime, of thread states */
	int current, current_id; /* thread state that has the GIL in _PyRuntime; its thread's id */
	int cframe, current_frame; /* in a thread state (or its cframe) */
	int cframe_frame, cframe_previous;
	int frame_code, frame_previous, frame_instruction, frame_owner;
	int frame_entry; /* whether C has called the frame */
	int code_filename, code_qualname, code_linetable, code_firstline, code_bytes;
	int code_framesize;		      /* words of its frames */
	int code_stacksize, code_nlocalsplus; /* which are these and the head's, before 3.12 */
	int text;			      /* in a string: behind its head */
};

static const struct cpython_layout layouts[] = {
	{
		.minor = 11,
		.key = 592,
		.current = 576,
		.current_id = 152,
		.cframe = 56,
		.current_frame = NONE,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_owner = 69,
		.frame_entry = 68,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_firstline = 72,
		.code_bytes = 184,
		.code_framesize = NONE,
		.code_stacksize = 68,
		.code_nlocalsplus = 76,
		.text = 48,
	},
	{
		.minor = 12,
		.key = 1544,
		.current = NONE,
		.current_id = NONE,
		.cframe = 56,
		.current_frame = NONE,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_owner = 70,
		.frame_entry = NONE,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_firstline = 68,
		.code_bytes = 192,
		.code_framesize = 76,
		.code_stacksize = 64,
		.code_nlocalsplus = 72,
		.text = 40,
	},
	{
		.minor = 13,
		.key = 2160,
		.current = NONE,
		.current_id = NONE,
		.cframe = NONE,
		.current_frame = 72,
		.cframe_frame = NONE,
		.cframe_previous = NONE,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_owner = 70,
		.frame_entry = NONE,
		.code_filename = 112,
		.code_qualname = 128,
		.code_linetable = 136,
		.code_firstline = 68,
		.code_bytes = 200,
		.code_framesize = 76,
		.code_stacksize = 64,
		.code_nlocalsplus = 72,
		.text = 40,
	},
};

/* The words of a code object that its creation sets: its type, sizes, constants, names, texts. */
#define CODE_WORDS 0x3ffbeU

/* The same of the head of a string or of bytes: its type, size and hash. */
#define TEXT_WORDS 0xeU

static const struct cpython_layout *find_layout(uint32_t version)
{
	if (version >> 24 != PYTHON_3)
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == (version >> 16 & 0xff))
			return &layouts[i];
	return NULL;
}

static bool find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
			  GElf_Sym *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *text;

		if (!gelf_getsym(data, i, ret) || ret->st_shndx == SHN_UNDEF)
			continue;
		text = elf_strptr(elf, header->sh_link, ret->st_name);
		if (text && !strcmp(text, name))
			return true;
	}
	return false;
}

static bool find_symbol(const struct loaded_image *image, const char *name, GElf_Sym *ret)
{
	Elf *elf = image->elf->elf;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
		    find_in_table(elf, section, &header, name, ret))
			return true;
	return false;
}

static bool read_memory(const struct loaded_image *image, uint64_t address, void *ret, size_t size)
{
	return pread(image->memory, ret, size, image->bias + address) == (ssize_t)size;
}

/*
 * Whether the code of a function has an operand that leads to `place` in _PyRuntime: as a distance
 * from the instruction's end, or, behind the address of _PyRuntime from the GOT, as its offset.
 */
static bool refers_to(const struct loaded_image *image, const GElf_Sym *function,
		      const GElf_Sym *runtime, int place)
{
	uint8_t code[CODE_READ_MAX];
	size_t size = function->st_size < sizeof(code) ? function->st_size : sizeof(code);

	if (!read_memory(image, function->st_value, code, size))
		return false;
	for (size_t i = 0; i + sizeof(int32_t) <= size; i++) {
		uint64_t end = function->st_value + i + sizeof(int32_t);
		int32_t operand;

		memcpy(&operand, code + i, sizeof(operand));
		if (operand == place || end + operand == runtime->st_value + place ||
		    end + operand == runtime->st_value + place + sizeof(int32_t))
			return true;
	}
	return false;
}

/* The root by the key of thread states: from a state on to its frame, or its cframe. */
static struct walk_root root_by_key(const struct cpython_layout *layout, uint64_t runtime)
{
	return (struct walk_root){
		.base = WALK_BASE_THREAD_KEY,
		.start = runtime + layout->key + sizeof(int32_t), /* behind its flag */
		.flag = -(int)sizeof(int32_t),
		.self = -1,
	};
}

/* The root by the state that has the GIL, if it is that of the thread. */
static struct walk_root root_by_current(const struct cpython_layout *layout, uint64_t runtime)
{
	if (layout->current < 0)
		return (struct walk_root){ .base = WALK_BASE_NONE };
	return (struct walk_root){
		.base = WALK_BASE_ADDRESS,
		.start = runtime + layout->current,
		.self = layout->current_id,
	};
}

static void add_load(struct walk_list *list, int offset)
{
	for (size_t i = 0; i < WALK_ROOTS_MAX; i++)
		if (list->roots[i].base != WALK_BASE_NONE)
			list->roots[i].loads[list->roots[i].n_loads++] = offset;
}

static struct walk_list make_list(const struct cpython_layout *layout, uint64_t runtime,
				  uint16_t window, uint16_t next, uint16_t limit)
{
	return (struct walk_list){
		.roots = { root_by_current(layout, runtime), root_by_key(layout, runtime) },
		.window = window,
		.next = next,
		.limit = limit,
	};
}

static void make_walk(const struct cpython_layout *layout, uint64_t runtime,
		      struct walk_program *ret)
{
	struct walk_list *frames = &ret->lists[0], *cframes = &ret->lists[1];

	*frames = make_list(layout, runtime, FRAME_WINDOW, layout->frame_previous, FRAMES_MAX);
	if (layout->cframe >= 0) {
		*cframes = make_list(layout, runtime, CFRAME_WINDOW, layout->cframe_previous,
				     CFRAMES_MAX);
		add_load(cframes, layout->cframe);
		add_load(cframes, 0);
		add_load(frames, layout->cframe);
		add_load(frames, layout->cframe_frame);
	} else {
		add_load(frames, layout->current_frame);
	}
	add_load(frames, 0);
	ret->object = (struct walk_object){
		.pointer_mask = UINT64_MAX,
		.words = CODE_WORDS,
		.pointer = layout->frame_code,
		.size = CODE_WINDOW,
		.texts = {
			{ layout->code_qualname, QUALNAME_READ, layout->text, TEXT_WORDS },
			{ layout->code_filename, FILENAME_READ, layout->text, TEXT_WORDS },
			{ layout->code_linetable, LINETABLE_READ, BYTES_HEAD, TEXT_WORDS },
		},
	};
}

static void describe(const struct cpython_layout *layout, uint32_t version, uint64_t type,
		     struct runtime *ret)
{
	strcpy(ret->kind, "cpython");
	snprintf(ret->version, sizeof(ret->version), "%u.%u.%u", version >> 24,
		 version >> 16 & 0xff, version >> 8 & 0xff);
	snprintf(
		ret->layout, sizeof(ret->layout),
		"frame.code=%d frame.previous=%d frame.instruction=%d frame.owner=%d frame.entry=%d "
		"cframe.frame=%d cframe.previous=%d code.filename=%d code.qualname=%d "
		"code.linetable=%d code.firstline=%d code.bytes=%d code.size=%d "
		"code.framesize=%d code.stacksize=%d code.nlocalsplus=%d frame.size=%d "
		"code.type=%" PRIu64 " text=%d bytes=%d",
		layout->frame_code, layout->frame_previous, layout->frame_instruction,
		layout->frame_owner, layout->frame_entry, layout->cframe_frame,
		layout->cframe_previous, layout->code_filename, layout->code_qualname,
		layout->code_linetable, layout->code_firstline, layout->code_bytes, CODE_WINDOW,
		layout->code_framesize, layout->code_stacksize, layout->code_nlocalsplus,
		FRAME_WINDOW, type, layout->text, BYTES_HEAD);
}

bool cpython_find(const struct loaded_image *image, struct runtime *ret)
{
	GElf_Sym runtime, type, symbol;
	const struct cpython_layout *layout;
	uint32_t version;

	if (!find_symbol(image, "_PyRuntime", &runtime) ||
	    !find_symbol(image, "PyCode_Type", &type) ||
	    !find_symbol(image, "Py_Version", &symbol) ||
	    !read_memory(image, symbol.st_value, &version, sizeof(version)))
		return false;
	layout = find_layout(version);
	if (!layout || !find_symbol(image, "PyGILState_GetThisThreadState", &symbol) ||
	    !refers_to(image, &symbol, &runtime, layout->key))
		return false;
	make_walk(layout, image->bias + runtime.st_value, &ret->walk);
	describe(layout, version, image->bias + type.st_value, ret);
	return true;
}

bool runtime_may_be_in(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (!strncmp(name, "/python", 7) || !strncmp(name, "/libpython", 10));
}
