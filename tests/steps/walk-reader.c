/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/hash.h"
#include "common/script/script-walk.h"
#include "tests/steps/managed-reader.h"
#include "tests/steps/tracee.h"
#include "tests/steps/walk-reader.h"

enum {
	KEYS = 0x310, /* glibc: of each key a sequence number and the value */
	KEY_SIZE = 16,
	KEY_VALUE = 8,
	KEYS_FIRST = 32,
	KEYS_MAX = 1024, /* those behind the first are in blocks of as many */
	KEY_BLOCKS = KEYS + KEYS_FIRST * KEY_SIZE,
	DTV = 8, /* where a thread has its blocks of modules, each in such an entry */
	DTV_ENTRY = 16,
	SCALE = 64, /* of sizes */
	TEXT_HASHED = 24,
	STACK_MAX = 8 << 20,
	MANAGED_WORDS = 1 << 13,
};

void walk_reader_deinit(struct walk_reader *reader)
{
	pair_map_deinit(&reader->seen);
}

static bool read_memory(const struct walk_reader *reader, uint64_t address, void *ret, size_t size)
{
	return tracee_read(reader->pid, address, ret, size) == size;
}

static uint64_t read_pointer(const struct walk_reader *reader, uint64_t address)
{
	uint64_t pointer;

	return read_memory(reader, address, &pointer, sizeof(pointer)) ? pointer : 0;
}

/* Looks into a mapped file. */
static bool look_into(const struct proc_mapping *map, int memory, struct runtime *ret)
{
	struct loaded_image loaded = { .memory = memory };
	struct elf_image elf;
	uint64_t address;
	bool is_found = false;

	if (elf_image_open_descriptor(open(map->path, O_RDONLY | O_CLOEXEC), 0, &elf) !=
	    ELF_IMAGE_OK)
		return false;
	if (elf_image_address(&elf, map->offset, &address)) {
		loaded.elf = &elf;
		loaded.bias = map->start - address;
		runtime_find(&loaded, ret);
		is_found = ret->state == RUNTIME_KNOWN;
	}
	elf_image_close(&elf);
	return is_found;
}

static int find_runtime(struct walk_reader *reader)
{
	_cleanup_(proc_maps_deinit) struct proc_maps maps = { 0 };
	_cleanup_fd_ int memory = -1;
	bool may_have = false;
	char path[64];
	int r = proc_read_maps(reader->pid, &maps);

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)reader->pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	if (r < 0 || memory < 0)
		return r < 0 ? r : -errno;
	for (size_t i = 0; i < maps.n; i++)
		may_have |= runtime_may_be_in(maps.list[i].path);
	for (size_t i = 0; i < maps.n && may_have; i++)
		if (look_into(&maps.list[i], memory, &reader->runtime))
			return 0;
	return -ENOENT;
}

int walk_reader_begin(struct walk_reader *reader, struct processes *processes, pid_t pid,
		      uint64_t time)
{
	struct wire_runtime out = { .time = time };
	const char *path;
	int r;

	pair_map_init(&reader->seen, SIZE_MAX);
	reader->pid = pid;
	r = find_runtime(reader);
	if (r == 0)
		r = processes_of_sample(processes, pid, 0, time, &out.process);
	if (r == 0)
		r = processes_add_scripts(processes, reader->runtime.language, time);
	path = script_path(reader->runtime.language);
	out.kind = (struct wire_string){ path + 1, strlen(path) - strlen("[]") };
	out.version = wire_string(reader->runtime.version, 64);
	out.layout = wire_string(reader->runtime.layout, 4096);
	return r < 0 ? r : stage_put(processes->stage, WIRE_RECORD_runtime, &out);
}

/* Where a thread has a variable of a module. */
static uint64_t find_in_module(const struct walk_reader *reader, uint64_t index, uint64_t thread)
{
	uint64_t module = read_pointer(reader, index);

	return read_pointer(reader, read_pointer(reader, thread + DTV) + module * DTV_ENTRY) +
	       read_pointer(reader, index + sizeof(index));
}

/* The object that is known by what all of them share. */
static uint64_t known_of(const struct walk_reader *reader, uint64_t shared)
{
	const struct walk_kept *kept = &reader->runtime.walk.kept;

	return kept->is_within ? shared + kept->one_at
			       : read_pointer(reader, shared + kept->one_at);
}

/* What objects share, of which one is at an address; 0: there is none. */
static uint64_t find_shared(const struct walk_reader *reader, uint64_t at)
{
	const struct walk_kept *kept = &reader->runtime.walk.kept;
	uint64_t shared, one;

	if (at % 8 || !at ||
	    (read_pointer(reader, at + kept->type_at) & kept->type_mask) != kept->type)
		return 0;
	shared = read_pointer(reader, at + kept->shared_at);
	one = shared ? known_of(reader, shared) : 0;
	return one && read_pointer(reader, one + kept->shared_at) == shared ? shared : 0;
}

/* From the object that counts on, along their frames. */
static void follow_kept(struct walk_reader *reader, uint64_t shared)
{
	const struct walk_kept *kept = &reader->runtime.walk.kept;
	uint64_t at = read_pointer(reader, shared + kept->current_at), outer,
		 frame = read_pointer(reader, at + kept->frame_at) & ~3ULL;
	size_t n = 0;

	for (size_t i = 0; i < kept->words && find_shared(reader, at) == shared; i++) {
		if (!n || reader->kept[n - 1] != at)
			reader->kept[n++] = at;
		if (n == WALK_LISTS_MAX || at == known_of(reader, shared))
			break;
		outer = read_pointer(reader, frame + kept->frame_previous) & ~3ULL;
		frame = outer ? outer : frame + kept->frame_size;
		if (!outer)
			at = read_pointer(reader, frame + kept->frame_owner);
	}
}

/* Finds what the stack keeps, as the program in the kernel does. */
static void find_kept(struct walk_reader *reader, uint64_t sp)
{
	const struct walk_kept *kept = &reader->runtime.walk.kept;
	size_t n = 0;

	memset(reader->kept, 0, sizeof(reader->kept));
	for (size_t i = 0; i < kept->words && n < WALK_LISTS_MAX; i++) {
		uint64_t at = read_pointer(reader, sp + i * sizeof(at));
		bool is_new = at - sp >= STACK_MAX;
		uint64_t shared = is_new ? find_shared(reader, at) : 0;

		for (size_t k = 0; k < n; k++)
			is_new &= at != reader->kept[k];
		if (!is_new || !shared)
			continue;
		if (kept->frame_size) {
			follow_kept(reader, shared);
			break;
		}
		reader->kept[n++] = at;
		if (at == known_of(reader, shared))
			break;
	}
}

/* The address of the first element of a list; 0: there is none. */
static uint64_t find_root(const struct walk_reader *reader, const struct walk_root *root,
			  const struct user_regs_struct *registers, uint64_t kept)
{
	uint64_t at = root->base == WALK_BASE_ADDRESS ? root->start : 0,
		 thread = registers->fs_base;
	uint32_t key, flag = 1;

	if (root->base == WALK_BASE_KEPT && kept)
		at = kept + root->start;
	if (root->base == WALK_BASE_REGISTER && registers->rip - root->start < (uint32_t)root->flag)
		at = registers->rdx;
	if (root->base == WALK_BASE_THREAD)
		at = thread + root->start;
	if (root->base == WALK_BASE_MODULE)
		at = find_in_module(reader, root->start, thread);
	if (root->base == WALK_BASE_THREAD_KEY) {
		if (root->flag &&
		    !read_memory(reader, root->start + root->flag, &flag, sizeof(flag)))
			return 0;
		if (flag != 1 || !read_memory(reader, root->start, &key, sizeof(key)) ||
		    key >= KEYS_MAX)
			return 0;
		at = read_pointer(reader, thread + KEY_BLOCKS + key / KEYS_FIRST * sizeof(at));
		at += at ? key % KEYS_FIRST * KEY_SIZE + KEY_VALUE : 0;
	}
	for (size_t i = 0; i < root->n_loads && at; i++) {
		at = read_pointer(reader, at);
		if (i == 0 && root->self >= 0 && at &&
		    read_pointer(reader, at + root->self) != thread)
			return 0;
		at = at ? at + root->loads[i] : 0;
	}
	return at;
}

static uint64_t hash(uint64_t hash, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n--)
		hash = hash_byte(hash, *at++);
	return hash;
}

/* Reads a text, or its head and what that leads to. Returns how many bytes were read. */
static size_t read_text(const struct walk_reader *reader, const struct walk_text *text,
			const char *object, uint64_t address, char *to)
{
	const uint64_t *head = (const void *)to;
	size_t size = text->size, n;
	uint32_t count = 0;

	if (text->sized_by)
		memcpy(&count, object + text->sized_by, sizeof(count));
	if (text->sized_by && text->size_base + (uint64_t)count * text->size_scale / SCALE < size)
		size = text->size_base + (uint64_t)count * text->size_scale / SCALE;
	memset(to, 0, WALK_HEAD_MAX);
	n = tracee_read(reader->pid, address, to, size);
	if (!text->kinds || n < WALK_HEAD_MAX / 2 || (head[0] & text->kinds) != text->outside)
		return n;
	size = head[text->length] < size - text->skip ? head[text->length] : size - text->skip;
	return text->skip + tracee_read(reader->pid, head[text->outside_at], to + text->skip, size);
}

/* The address of a text, which an object or what belongs to it has; 0: it has none. */
static uint64_t text_address(const struct walk_reader *reader, const struct walk_text *text,
			     const char *from)
{
	uint64_t first, at, owner;
	uint32_t last;

	memcpy(&first, from, sizeof(first));
	memcpy(&at, from + text->pointer, sizeof(at));
	if (text->table_entry) {
		memcpy(&owner, from + text->table_owner, sizeof(owner));
		return at && owner &&
				       read_memory(reader, owner + text->table_last, &last,
						   sizeof(last))
			       ? at + (last + 1ULL) * text->table_entry
			       : 0;
	}
	return text->of_kind && (first & text->kinds) != text->of_kind ? 0 : at;
}

/* Mixes the words of a text that count, or what is behind its head, into an identity. */
static uint64_t hash_text(uint64_t identity, const struct walk_text *text, const char *bytes,
			  size_t n)
{
	if (text->length || text->length_at || text->hash)
		return n <= text->skip
			       ? identity
			       : hash(identity, bytes + text->skip,
				      n - text->skip < TEXT_HASHED ? n - text->skip : TEXT_HASHED);
	for (size_t i = 0; i < n / 8 && text->words >> i; i++)
		if (text->words >> i & 1)
			identity = hash(identity, bytes + i * 8, 8);
	return identity;
}

static bool has_type(const struct walk_object *object, const char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes + object->type_at, sizeof(word));
	if (object->type_mask)
		word &= object->type_mask;
	return !object->type || word == object->type || word == object->other_type;
}

/* Reads an object with its texts; returns its size. Its identity is a hash of all but counts. */
static size_t read_object(const struct walk_reader *reader, const struct walk_object *object,
			  uint64_t address, char *bytes, uint64_t *ret_identity)
{
	size_t used = object->size, offsets[WALK_TEXTS_MAX + 1] = { 0 };

	*ret_identity = 0;
	if (!address || !read_memory(reader, address, bytes, object->size) ||
	    !has_type(object, bytes))
		return 0;
	*ret_identity = 1;
	for (size_t i = 0; i < object->size / 8; i++)
		if (object->words >> i & 1)
			*ret_identity = hash(*ret_identity, bytes + i * 8, 8);
	for (size_t i = 0; i < WALK_TEXTS_MAX && object->texts[i].size; i++) {
		const char *from = bytes + offsets[object->texts[i].of];
		uint64_t n =
			read_text(reader, &object->texts[i], bytes,
				  text_address(reader, &object->texts[i], from), bytes + used + 8);

		memcpy(bytes + used, &n, sizeof(n));
		*ret_identity = hash_text(*ret_identity, &object->texts[i], bytes + used + 8, n);
		offsets[i + 1] = used + 8;
		used += 8 + ((n + 7) & ~7UL);
	}
	*ret_identity |= 1;
	return used;
}

/* Emits what an object is, if it is new. */
static int put_bytes(struct walk_reader *reader, struct stage *stage,
		     const struct wire_sample *sample, uint64_t address, uint64_t identity,
		     struct wire_blob bytes)
{
	const struct wire_memory out = {
		.process = sample->process,
		.time = sample->time,
		.address = address,
		.identity = identity,
		.number = reader->n_numbers + 1,
		.bytes = bytes,
	};
	int r;

	if (!identity || pair_map_find(&reader->seen, address, identity))
		return 0;
	r = pair_map_add(&reader->seen, address, identity, 1);
	reader->n_numbers++;
	if (r == 0)
		r = stage_put(stage, WIRE_RECORD_memory, &out);
	return r < 0 ? r : wire_writer_flush(&stage->writer);
}

static int put_object(struct walk_reader *reader, struct stage *stage,
		      const struct wire_sample *sample, const struct walk_object *object,
		      uint64_t address, uint64_t *ret_identity)
{
	char bytes[WALK_OBJECT_MAX + WALK_TEXTS_MAX * (8 + WALK_TEXT_MAX)];
	size_t size = read_object(reader, object, address, bytes, ret_identity);

	return put_bytes(reader, stage, sample, address, *ret_identity,
			 (struct wire_blob){ bytes, size });
}

/* Puts the word behind a window to which it leads. */
static void put_word(const struct walk_reader *reader, const struct walk_word *word, char *window,
		     size_t size)
{
	uint64_t at;
	uint32_t index;

	memcpy(&at, window + word->pointer, sizeof(at));
	memcpy(&index, window + word->index, sizeof(index));
	at &= word->pointer_mask;
	for (size_t i = 0; i < word->n_loads && at; i++) {
		at += word->loads[i];
		if (i + 1 == word->n_loads)
			at += (uint64_t)index * word->index_scale;
		at = read_pointer(reader, at);
	}
	at -= at ? word->less : 0;
	memcpy(window + size, &at, sizeof(at));
}

/* The address of an element's object, which takes the place of what leads to it; 0: none. */
static uint64_t take_object(const struct walk_reader *reader, const struct walk_object *object,
			    char *window)
{
	uint64_t at, kind = 0;

	if (object->kind_mask)
		memcpy(&kind, window + object->kind_at, sizeof(kind));
	memcpy(&at, window + object->pointer, sizeof(at));
	at &= object->pointer_mask;
	if ((kind & object->kind_mask) != object->kind)
		return 0;
	if (object->load && at) {
		at = read_pointer(reader, at + object->load);
		memcpy(window + object->pointer, &at, sizeof(at));
	}
	return at;
}

/* The same in a list of heads with arrays. */
static uint64_t next_in_arrays(struct walk_reader *reader, const struct walk_list *list,
			       uint64_t at, const char *window)
{
	int32_t last;

	if (at == reader->head) {
		reader->head = 0;
		memcpy(&reader->head_next, window + list->next, sizeof(reader->head_next));
		memcpy(&reader->array, window + list->array, sizeof(reader->array));
		memcpy(&last, window + list->array_last, sizeof(last));
		if (last >= 0)
			return reader->array + (uint64_t)last * list->stride;
	} else if (at > reader->array) {
		return at - list->stride;
	}
	reader->head = reader->head_next;
	return reader->head;
}

/* The same in a list whose addresses fall. */
static uint64_t next_below(const struct walk_reader *reader, const struct walk_list *list,
			   uint64_t at, const char *window)
{
	uint64_t word, down;

	memcpy(&word, window + list->next, sizeof(word));
	down = word & 3 ? word & ~7ULL
			: ((read_pointer(reader, word - 4) >> 8 & 0xff) + list->steps) * 8;
	return at - down < at ? at - down : 0;
}

/* The same while elements of objects aside are read, or if this one leads to such. */
static uint64_t next_aside(struct walk_reader *reader, const struct walk_list *list, uint64_t at,
			   const char *window, uint64_t next)
{
	uint64_t word, object;

	memcpy(&word, window + list->aside, sizeof(word));
	if (!reader->aside && word)
		return next;
	if (!reader->aside)
		reader->aside_back = next;
	object = reader->aside ? read_pointer(reader, reader->aside + list->aside_next)
			       : at - list->aside_within;
	reader->aside = object && read_pointer(reader, object + list->aside_next) ? object : 0;
	return reader->aside ? read_pointer(reader, object + list->aside_element)
			     : reader->aside_back;
}

/* The address of the element behind one; 0: it is the last. */
static uint64_t next_of(struct walk_reader *reader, const struct walk_list *list, uint64_t at,
			const char *window)
{
	const struct walk_word *word = &reader->runtime.walk.word;
	uint64_t last = 0, behind;

	if (list == reader->runtime.walk.lists && word->last_mask) {
		memcpy(&last, window + list->window, sizeof(last));
		if ((last & word->last_mask) == word->last)
			return 0;
	}
	if (list->array_last)
		return next_in_arrays(reader, list, at, window);
	if (list->stride)
		return at + list->stride;
	if (list->steps)
		return next_below(reader, list, at, window);
	memcpy(&behind, window + list->next, sizeof(behind));
	return list->aside_within ? next_aside(reader, list, at, window, behind) : behind;
}

/* Puts the objects of an element of a list, and what they are into it. */
static int put_objects(struct walk_reader *reader, struct stage *stage, uint16_t number,
		       const struct wire_sample *sample, struct walk_element *element)
{
	const struct walk_program *walk = &reader->runtime.walk;
	struct walk_object of_any_kind = walk->beside;
	char *window = (char *)(element + 1);
	uint64_t beside = 0;
	int r = 0;

	if (number == 0 || walk->lists[number].is_like_first)
		r = put_object(reader, stage, sample, &walk->object,
			       take_object(reader, &walk->object, window), &element->identity);
	if (r < 0 || !walk->beside.size)
		return r;
	of_any_kind.kind_mask = of_any_kind.kind = 0;
	r = put_object(reader, stage, sample, &walk->beside,
		       take_object(reader, number == 0 ? &walk->beside : &of_any_kind, window),
		       &beside);
	if (number == 0)
		memcpy(window + walk->lists[0].window + (walk->word.n_loads ? WALK_WORD_SIZE : 0),
		       &beside, sizeof(beside));
	else
		element->identity = beside;
	return r;
}

static int read_list(struct walk_reader *reader, struct stage *stage, uint16_t number,
		     const struct user_regs_struct *registers, const struct wire_sample *sample)
{
	const struct walk_list *list = &reader->runtime.walk.lists[number];
	const struct walk_word *word = &reader->runtime.walk.word;
	struct walk_list_head *head = (void *)(reader->bytes + reader->size);
	bool is_full = number == 0 || list->is_like_first;
	size_t word_size = is_full && word->n_loads ? WALK_WORD_SIZE : 0,
	       size = list->window + word_size +
		      (number == 0 && reader->runtime.walk.beside.size ? WALK_BESIDE_SIZE : 0);
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; i < WALK_ROOTS_MAX && !at; i++)
		at = find_root(reader, &list->roots[i], registers, reader->kept[list->kept]);
	reader->head = at;
	reader->aside = 0;
	*head = (struct walk_list_head){ number, size, 0, at ? 0 : WIRE_walk_end_NO_ROOT };
	reader->size += sizeof(*head);
	while (at && !head->end && r == 0) {
		struct walk_element *element = (void *)(reader->bytes + reader->size);
		char *window = (char *)(element + 1);

		if (head->n == list->limit ||
		    reader->size + sizeof(*element) + size > WIRE_WALK_MAX) {
			head->end = WIRE_walk_end_LIMIT;
		} else if (!read_memory(reader, at - list->before, window, list->window)) {
			head->end = WIRE_walk_end_ABSENT;
		} else {
			*element = (struct walk_element){ .address = at };
			if (word_size)
				put_word(reader, word, window, list->window);
			r = put_objects(reader, stage, number, sample, element);
			at = next_of(reader, list, at, window);
			reader->size += sizeof(*element) + size;
			head->n++;
		}
	}
	if (!head->end)
		head->end = WIRE_walk_end_END;
	return r;
}

/* Puts a word of the stack, if it is in managed code; the first is what is executed. */
static int put_return(struct walk_reader *reader, struct stage *stage,
		      const struct wire_sample *sample, struct walk_list_head *head, uint64_t slot,
		      uint64_t pc)
{
	const struct managed_reader managed = { reader->pid, &reader->runtime.walk.managed };
	struct walk_element *element = (void *)(reader->bytes + reader->size);
	struct managed_found found;

	managed_reader_find(&managed, pc - (head->n > 0), &found);
	if (head->n && !found.begin)
		return 0;
	*element = (struct walk_element){ slot, found.identity };
	*(struct walk_return *)(element + 1) =
		(struct walk_return){ pc, found.begin, found.method };
	reader->size += sizeof(*element) + sizeof(struct walk_return);
	head->n++;
	if (found.identity && !pair_map_find(&reader->seen, found.begin, found.identity))
		managed_reader_name(&managed, &found.code);
	return put_bytes(reader, stage, sample, found.begin, found.identity,
			 (struct wire_blob){ &found.code, sizeof(found.code) });
}

/* All words of the stack that lead into managed code, and the code that is executed. */
static int read_managed(struct walk_reader *reader, struct stage *stage,
			const struct user_regs_struct *registers, const struct wire_sample *sample)
{
	struct walk_list_head *head = (void *)reader->bytes;
	struct walk_element *element;
	static uint64_t words[MANAGED_WORDS];
	size_t n = tracee_read(reader->pid, registers->rsp, words, sizeof(words)) / sizeof(*words);
	int r;

	reader->size = sizeof(*head);
	*head = (struct walk_list_head){ 0, sizeof(struct walk_return), 0, WIRE_walk_end_END };
	r = put_return(reader, stage, sample, head, registers->rsp, registers->rip);
	for (size_t i = 0; i < n && r == 0 && head->n < WALK_ELEMENTS_MAX; i++)
		r = put_return(reader, stage, sample, head, registers->rsp + i * sizeof(*words),
			       words[i]);
	head = (void *)(reader->bytes + reader->size);
	*head = (struct walk_list_head){ 2, WALK_CODE_WINDOW, 1, WIRE_walk_end_END };
	element = (void *)(head + 1);
	*element = (struct walk_element){ .address = registers->rip };
	if (!read_memory(reader, registers->rip, element + 1, WALK_CODE_WINDOW))
		return r;
	reader->size += sizeof(*head) + sizeof(*element) + WALK_CODE_WINDOW;
	return r;
}

int walk_reader_read(struct walk_reader *reader, struct stage *stage,
		     const struct user_regs_struct *registers, struct wire_sample *sample)
{
	int r = wire_writer_flush(&stage->writer); /* it may still borrow the last walk */

	reader->size = 0;
	if (r == 0 && reader->runtime.walk.managed.map) {
		r = read_managed(reader, stage, registers, sample);
		sample->walk = (struct wire_blob){ reader->bytes, reader->size };
		return r;
	}
	find_kept(reader, registers->rsp);
	for (uint16_t i = 0; i < WALK_LISTS_MAX && r == 0; i++)
		if (reader->runtime.walk.lists[i].window)
			r = read_list(reader, stage, i, registers, sample);
	sample->walk = (struct wire_blob){ reader->bytes, reader->size };
	return r;
}
