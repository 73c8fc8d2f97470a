/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small programs for the kernel (bpf(2)), put together instruction by instruction: they need no
 * compiler, and hardly any type information of the kernel. What an instruction does is in
 * Documentation/bpf/standardization/instruction-set.rst of Linux. Registers by convention: 0 is
 * what a call returns, 1 to 5 are its arguments and do not outlive it, 6 to 9 do, 10 is the end of
 * a stack of 512 bytes. A program begins with its context in register 1.
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
	size_t n; /* it is more than there is room for if the program was too long */
};

/* Bytes of what is read or written. */
enum bpf_width { BPF_WIDTH_4 = BPF_W, BPF_WIDTH_8 = BPF_DW };

/* Behind all that was put before: `to` and `from` are registers, and what lies there is changed. */
void bpf_copy(struct bpf_code *code, int to, int from);
void bpf_set(struct bpf_code *code, int to, int32_t value);
void bpf_set_64(struct bpf_code *code, int to, uint64_t value);
void bpf_set_map(struct bpf_code *code, int to, int map_fd);
void bpf_load(struct bpf_code *code, enum bpf_width width, int to, int address, int16_t offset);
void bpf_store(struct bpf_code *code, enum bpf_width width, int address, int16_t offset, int from);
/* `operation` is BPF_ADD, BPF_SUB, … of 64 bits. */
void bpf_do(struct bpf_code *code, int operation, int to, int from);
void bpf_do_value(struct bpf_code *code, int operation, int to, int32_t value);
/* *(u64 *)(address + offset) += from, whoever else does so at the same time. */
void bpf_add_atomically(struct bpf_code *code, int address, int16_t offset, int from);
void bpf_call(struct bpf_code *code, int function);
void bpf_exit(struct bpf_code *code);

/*
 * Calls a function of maps (BPF_FUNC_map_*_elem) for the key that is on the stack at `key`: what it
 * returns is in register 0. Registers 3 and 4 are whatever else it takes.
 */
void bpf_ask_map(struct bpf_code *code, int function, int map_fd, int16_t key);

/* Adds 1 to a counter (bpf_make_counter()); 8 bytes of the stack at `key` are lost. */
void bpf_count_in_map(struct bpf_code *code, int map_fd, int16_t key);

/*
 * Jumps go forward only: they are put before it is known where to, and land later. `condition` is
 * BPF_JEQ, BPF_JNE, BPF_JGE, … without a sign.
 */
size_t bpf_jump(struct bpf_code *code);
size_t bpf_jump_if(struct bpf_code *code, int condition, int left, int right);
size_t bpf_jump_if_value(struct bpf_code *code, int condition, int left, int32_t right);
void bpf_land(struct bpf_code *code, size_t jump);

/* A descriptor or -errno: -EPERM: it takes CAP_BPF; -EINVAL, -ENOSYS: this kernel has no such. */
int bpf_make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t n_max);

/*
 * The same of a map with one item, whose key is 0, which we share: it lies in our memory, too, in
 * `ret` until bpf_unshare_item().
 */
int bpf_make_shared_item(size_t size, void **ret);
void bpf_unshare_item(void *item, size_t size);

/*
 * The kernel looks at every way through the program before it takes it: -EACCES, -EINVAL: it does
 * not like it; -E2BIG: it is too long; -EPERM.
 */
int bpf_load_program(const struct bpf_code *code, enum bpf_prog_type type);

/*
 * Has a program of type BPF_PROG_TYPE_RAW_TRACEPOINT run at a tracepoint, until the descriptor is
 * closed that is returned. -ENOENT: there is no such tracepoint.
 */
int bpf_attach(int program_fd, const char *tracepoint);

/* 0 or -errno. */
int bpf_map_set(int map_fd, const void *key, const void *value);
int bpf_map_get(int map_fd, const void *key, void *ret);
int bpf_map_delete(int map_fd, const void *key);

/* The key behind `key` (NULL: the first); -ENOENT: that was the last one. */
int bpf_map_next(int map_fd, const void *key, void *ret);

/* A map of one number, for bpf_count_in_map(); 0 is read where there is none. */
int bpf_make_counter(void);
uint64_t bpf_read_counter(int map_fd);
