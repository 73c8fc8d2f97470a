/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File ids as OpenTelemetry's profiler computes them, so that a backend can join our data with its
 * (attribute process.executable.build_id.htlhash). Source of everything here:
 * github.com/open-telemetry/opentelemetry-ebpf-profiler, libpf/fileid.go, host/host.go.
 *
 * Files: the first 16 bytes of SHA-256 over the first 4096 bytes, the last 4096 bytes and the size
 * (8 bytes, big-endian); in a file below 8192 bytes the overlap counts twice. The kernel and its
 * modules: 128-bit FNV-1a over the text of the build-id in lower-case hexadecimal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FILE_ID_SIZE = 16,
	FILE_ID_DIGITS = 2 * FILE_ID_SIZE,
	FILE_ID_TEXT_SIZE = FILE_ID_DIGITS + 1,
	FILE_ID_KERNEL_BUILD_ID_MIN = 8, /* bytes; OpenTelemetry makes no id of a shorter one */
};

struct file_id {
	uint8_t bytes[FILE_ID_SIZE];
};

enum file_id_outcome {
	FILE_ID_OK = 0,
	FILE_ID_E_CHANGED,     /* the file was written to or truncated meanwhile */
	FILE_ID_E_NOT_REGULAR, /* no regular file, so without size and end */
};

/* Reads an open file regardless of its file position. A positive outcome, or -errno. */
int file_id_of_file(int fd, struct file_id *ret);

/* The id of a file whose bytes are all in memory. */
void file_id_of_bytes(const void *bytes, size_t size, struct file_id *ret);

/* The id of a kernel or kernel module; false: its build-id is too short to be unique. */
bool file_id_of_kernel(const void *build_id, size_t size, struct file_id *ret);

/* Converts to 32 lower-case hexadecimal digits, and back: exactly 32, in either case. */
void file_id_text(const struct file_id *id, char ret[FILE_ID_TEXT_SIZE]);
bool file_id_parse(const char *text, struct file_id *ret);

/* The short form, for 64-bit fields like those of BPF: the first half, big-endian. */
uint64_t file_id_short(const struct file_id *id);
