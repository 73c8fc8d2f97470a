/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File ids as OpenTelemetry's profiler computes them, so that a backend can join what we write
 * with what it writes (its attribute process.executable.build_id.htlhash). Source of everything
 * here: github.com/open-telemetry/opentelemetry-ebpf-profiler, libpf/fileid.go, host/host.go.
 *
 * Of a file: the first 16 bytes of SHA-256 over its first 4096 bytes, its last 4096 bytes and its
 * size (8 bytes, big-endian); of a file below 8192 bytes what overlaps counts twice. Of the kernel
 * and its modules: FNV-1a of 128 bits over the text of the build-id, in lower-case hexadecimal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILE_ID_SIZE = 16,
	FILE_ID_DIGITS = 2 * FILE_ID_SIZE,
	FILE_ID_TEXT_SIZE = FILE_ID_DIGITS + 1,
	FILE_ID_KERNEL_BUILD_ID_MIN = 8, /* bytes; of a shorter one OpenTelemetry makes no id */
};

struct file_id {
	uint8_t bytes[FILE_ID_SIZE];
};

enum file_id_outcome {
	FILE_ID_OK = 0,
	FILE_ID_E_CHANGED,     /* the file was written to or cut while it was read */
	FILE_ID_E_NOT_REGULAR, /* nothing that has a size and an end */
};

/* Reads an open file, wherever its position is. A positive outcome, or -errno. */
int file_id_of_file(int fd, struct file_id *ret);

/* Of a file whose bytes are all in memory. */
void file_id_of_bytes(const void *bytes, size_t size, struct file_id *ret);

/* Of a kernel or a kernel module; false: its build-id is too short to tell it from others. */
bool file_id_of_kernel(const void *build_id, size_t size, struct file_id *ret);

/* 32 lower-case hexadecimal digits, and back: exactly as many, in either case. */
void file_id_text(const struct file_id *id, char ret[FILE_ID_TEXT_SIZE]);
bool file_id_parse(const char *text, struct file_id *ret);

/* What stands for it where 64 bits have to do, as in BPF: the first half, big-endian. */
uint64_t file_id_short(const struct file_id *id);
