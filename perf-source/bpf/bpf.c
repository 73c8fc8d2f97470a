/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf-source/bpf/bpf.h"

#define FIELD(text) ((uintptr_t)(text))

static void put(struct bpf_code *code, struct bpf_insn instruction)
{
	if (code->n < BPF_CODE_MAX)
		code->list[code->n] = instruction;
	code->n++;
}

void bpf_copy(struct bpf_code *code, int to, int from)
{
	bpf_do(code, BPF_MOV, to, from);
}

void bpf_set(struct bpf_code *code, int to, int32_t value)
{
	bpf_do_value(code, BPF_MOV, to, value);
}

/* Takes two instructions, with 32 bits of the value in each. */
static void set_wide(struct bpf_code *code, int to, int kind, uint64_t value)
{
	put(code, (struct bpf_insn){ .code = BPF_LD | BPF_DW | BPF_IMM,
				     .dst_reg = to,
				     .src_reg = kind,
				     .imm = (uint32_t)value });
	put(code, (struct bpf_insn){ .imm = value >> 32 });
}

void bpf_set_64(struct bpf_code *code, int to, uint64_t value)
{
	set_wide(code, to, 0, value);
}

void bpf_set_map(struct bpf_code *code, int to, int map_fd)
{
	set_wide(code, to, BPF_PSEUDO_MAP_FD, map_fd);
}

void bpf_load(struct bpf_code *code, enum bpf_width width, int to, int address, int16_t offset)
{
	put(code, (struct bpf_insn){ .code = BPF_LDX | BPF_MEM | width,
				     .dst_reg = to,
				     .src_reg = address,
				     .off = offset });
}

void bpf_store(struct bpf_code *code, enum bpf_width width, int address, int16_t offset, int from)
{
	put(code, (struct bpf_insn){ .code = BPF_STX | BPF_MEM | width,
				     .dst_reg = address,
				     .src_reg = from,
				     .off = offset });
}

void bpf_do(struct bpf_code *code, int operation, int to, int from)
{
	put(code, (struct bpf_insn){
			  .code = BPF_ALU64 | operation | BPF_X, .dst_reg = to, .src_reg = from });
}

void bpf_do_value(struct bpf_code *code, int operation, int to, int32_t value)
{
	put(code, (struct bpf_insn){
			  .code = BPF_ALU64 | operation | BPF_K, .dst_reg = to, .imm = value });
}

void bpf_add_atomically(struct bpf_code *code, int address, int16_t offset, int from)
{
	put(code, (struct bpf_insn){ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
				     .dst_reg = address,
				     .src_reg = from,
				     .off = offset,
				     .imm = BPF_ADD });
}

void bpf_call(struct bpf_code *code, int function)
{
	put(code, (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = function });
}

void bpf_exit(struct bpf_code *code)
{
	put(code, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

size_t bpf_jump(struct bpf_code *code)
{
	put(code, (struct bpf_insn){ .code = BPF_JMP | BPF_JA });
	return code->n - 1;
}

size_t bpf_jump_if(struct bpf_code *code, int condition, int left, int right)
{
	put(code, (struct bpf_insn){
			  .code = BPF_JMP | condition | BPF_X, .dst_reg = left, .src_reg = right });
	return code->n - 1;
}

size_t bpf_jump_if_value(struct bpf_code *code, int condition, int left, int32_t right)
{
	put(code, (struct bpf_insn){
			  .code = BPF_JMP | condition | BPF_K, .dst_reg = left, .imm = right });
	return code->n - 1;
}

void bpf_land(struct bpf_code *code, size_t jump)
{
	if (code->n <= BPF_CODE_MAX)
		code->list[jump].off = code->n - jump - 1;
}

void bpf_ask_map(struct bpf_code *code, int function, int map_fd, int16_t key)
{
	bpf_set_map(code, 1, map_fd);
	bpf_copy(code, 2, BPF_STACK_REGISTER);
	bpf_do_value(code, BPF_ADD, 2, key);
	bpf_call(code, function);
}

void bpf_count_in_map(struct bpf_code *code, int map_fd, int16_t key)
{
	size_t is_missing;

	bpf_set(code, 1, 0);
	bpf_store(code, BPF_WIDTH_8, BPF_STACK_REGISTER, key, 1);
	bpf_ask_map(code, BPF_FUNC_map_lookup_elem, map_fd, key);
	is_missing = bpf_jump_if_value(code, BPF_JEQ, 0, 0);
	bpf_set(code, 1, 1);
	bpf_add_atomically(code, 0, 0, 1);
	bpf_land(code, is_missing);
}

static int call_kernel(enum bpf_cmd command, union bpf_attr *attr)
{
	int r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : r;
}

int bpf_make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t n_max)
{
	union bpf_attr attr = {
		.map_type = type,
		.key_size = key_size,
		.value_size = value_size,
		.max_entries = n_max,
	};

	return call_kernel(BPF_MAP_CREATE, &attr);
}

static size_t whole_pages(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) / page * page;
}

int bpf_make_shared_item(size_t size, void **ret)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = size,
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};
	int fd = call_kernel(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		return fd;
	*ret = mmap(NULL, whole_pages(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret != MAP_FAILED)
		return fd;
	*ret = NULL;
	close(fd);
	return -ENOMEM;
}

void bpf_unshare_item(void *item, size_t size)
{
	if (item)
		munmap(item, whole_pages(size));
}

/* The kernel gives helpers that read tracing data only to programs under the GPL. */
int bpf_load_program(const struct bpf_code *code, enum bpf_prog_type type)
{
	union bpf_attr attr = {
		.prog_type = type,
		.insns = FIELD(code->list),
		.insn_cnt = code->n,
		.license = FIELD("GPL"),
	};

	return code->n > BPF_CODE_MAX ? -E2BIG : call_kernel(BPF_PROG_LOAD, &attr);
}

int bpf_attach(int program_fd, const char *tracepoint)
{
	union bpf_attr attr = {
		.raw_tracepoint = { .name = FIELD(tracepoint), .prog_fd = program_fd },
	};

	return call_kernel(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

/* `value` is also the next key: both share one field of the attributes. */
static int call_map(int command, int map_fd, const void *key, const void *value)
{
	union bpf_attr attr = { .map_fd = map_fd, .key = FIELD(key), .value = FIELD(value) };

	return call_kernel(command, &attr);
}

int bpf_map_set(int map_fd, const void *key, const void *value)
{
	return call_map(BPF_MAP_UPDATE_ELEM, map_fd, key, value);
}

int bpf_map_get(int map_fd, const void *key, void *ret)
{
	return call_map(BPF_MAP_LOOKUP_ELEM, map_fd, key, ret);
}

int bpf_map_delete(int map_fd, const void *key)
{
	return call_map(BPF_MAP_DELETE_ELEM, map_fd, key, NULL);
}

int bpf_map_next(int map_fd, const void *key, void *ret)
{
	return call_map(BPF_MAP_GET_NEXT_KEY, map_fd, key, ret);
}

int bpf_make_counter(void)
{
	return bpf_make_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t), 1);
}

uint64_t bpf_read_counter(int map_fd)
{
	uint64_t n = 0;

	return map_fd >= 0 && bpf_map_get(map_fd, &(uint32_t){ 0 }, &n) == 0 ? n : 0;
}
