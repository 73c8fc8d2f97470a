/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assembles small BPF programs (bpf(2)) instruction by instruction, without a compiler and with
 * hardly any type information of the kernel. Instructions: Documentation/bpf/standardization/
 * instruction-set.rst of Linux. Registers: 0 is a call's result, 1 to 5 are its arguments and are
 * clobbered by it, 6 to 9 are preserved, 10 is the end of a 512-byte stack. A program starts with
 * its context in register 1.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BPF_CODE_MAX = 1024, /* instructions of a program */
	BPF_STACK_REGISTER = 10,
};

struct bpf_code {
	struct bpf_insn list[BPF_CODE_MAX];
	size_t n; /* more than BPF_CODE_MAX if the program is too long */
};

/* Bytes that a load or store moves. */
enum bpf_width { BPF_WIDTH_4 = BPF_W, BPF_WIDTH_8 = BPF_DW };

/* Each appends an instruction: `to`, `from` and `address` are registers. */
void bpf_copy(struct bpf_code *code, int to, int from);
void bpf_set(struct bpf_code *code, int to, int32_t value);
void bpf_set_64(struct bpf_code *code, int to, uint64_t value);
void bpf_set_map(struct bpf_code *code, int to, int map_fd);
void bpf_load(struct bpf_code *code, enum bpf_width width, int to, int address, int16_t offset);
void bpf_store(struct bpf_code *code, enum bpf_width width, int address, int16_t offset, int from);
/* `operation` is BPF_ADD, BPF_SUB, … of 64 bits. */
void bpf_do(struct bpf_code *code, int operation, int to, int from);
void bpf_do_value(struct bpf_code *code, int operation, int to, int32_t value);
/* *(u64 *)(address + offset) += from, atomically. */
void bpf_add_atomically(struct bpf_code *code, int address, int16_t offset, int from);
void bpf_call(struct bpf_code *code, int function);
void bpf_exit(struct bpf_code *code);

/*
 * Calls a map function (BPF_FUNC_map_*_elem) with the key that is on the stack at `key`. Its result
 * is in register 0; registers 3 and 4 hold its other arguments.
 */
void bpf_ask_map(struct bpf_code *code, int function, int map_fd, int16_t key);

/* Adds 1 to a counter (bpf_make_counter()); clobbers 8 bytes of the stack at `key`. */
void bpf_count_in_map(struct bpf_code *code, int map_fd, int16_t key);

/*
 * Jumps are forward only; bpf_land() sets a jump's target to the next instruction. `condition` is
 * BPF_JEQ, BPF_JNE, BPF_JGE, …, unsigned.
 */
size_t bpf_jump(struct bpf_code *code);
size_t bpf_jump_if(struct bpf_code *code, int condition, int left, int right);
size_t bpf_jump_if_value(struct bpf_code *code, int condition, int left, int32_t right);
void bpf_land(struct bpf_code *code, size_t jump);

/* A descriptor or -errno: -EPERM: it takes CAP_BPF; -EINVAL, -ENOSYS: the kernel lacks it. */
int bpf_make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t n_max);

/* The same for a map with one item, of key 0, that is mapped at `*ret` until bpf_unshare_item(). */
int bpf_make_shared_item(size_t size, void **ret);
void bpf_unshare_item(void *item, size_t size);

/*
 * A descriptor or -errno: -EACCES, -EINVAL: the kernel's verifier, which checks every path through
 * the program, rejects it; -E2BIG: it is too long; -EPERM.
 */
int bpf_load_program(const struct bpf_code *code, enum bpf_prog_type type);

/*
 * Runs a program of type BPF_PROG_TYPE_RAW_TRACEPOINT at a tracepoint until the returned descriptor
 * is closed. -ENOENT: no such tracepoint.
 */
int bpf_attach(int program_fd, const char *tracepoint);

/* 0 or -errno. */
int bpf_map_set(int map_fd, const void *key, const void *value);
int bpf_map_get(int map_fd, const void *key, void *ret);
int bpf_map_delete(int map_fd, const void *key);

/* The key after `key` (NULL: the first one); -ENOENT: `key` was the last one. */
int bpf_map_next(int map_fd, const void *key, void *ret);

/* A map of one number, for bpf_count_in_map(). Reading gives 0 if there is no map. */
int bpf_make_counter(void);
uint64_t bpf_read_counter(int map_fd);
