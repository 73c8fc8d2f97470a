/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a capture with Sysprof's own library (see make-foreign): each kind of frame that the
 * library has, of processes and files that do not exist. All times but the header's are fixed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysprof-capture.h>

enum { CPU = 1, SHELL = 100, PROGRAM = 101, THREAD = 102 };

#define SECOND 1000000000LL
#define BEGIN (1000 * SECOND)
#define IN_KERNEL ((SysprofCaptureAddress)-128)
#define IN_USER ((SysprofCaptureAddress)-512)
#define N_OF(array) (sizeof(array) / sizeof(*(array)))

static SysprofCaptureWriter *writer;
static int64_t now = BEGIN;

static int64_t next(void)
{
	return now += SECOND / 1000;
}

/* The library is built for a newer C library than Debian 12 has. */
size_t strlcpy(char *to, const char *from, size_t size) __attribute__((weak));
size_t strlcpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
	return strlen(from);
}

long __isoc23_strtol(const char *text, char **end, int base) __attribute__((weak));
long __isoc23_strtol(const char *text, char **end, int base)
{
	return strtol(text, end, base);
}

static void add_file(int pid, const char *path, const char *text)
{
	sysprof_capture_writer_add_file(writer, BEGIN, -1, pid, path, true, (const uint8_t *)text,
					strlen(text));
}

static void add_machine(void)
{
	add_file(-1, "/proc/kallsyms",
		 "ffffffff81000000 T _stext\n"
		 "ffffffff81000100 T do_syscall_64\n"
		 "ffffffff81000200 t schedule\n"
		 "ffffffffc0000000 t probe\t[module]\n"
		 "ffffffffc0000100 t behind\t[module]\n");
	add_file(SHELL, "/proc/100/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
	sysprof_capture_writer_add_metadata(writer, BEGIN, -1, -1, "local-profiler",
					    "[local-profiler]\n", -1);
	sysprof_capture_writer_add_process(writer, BEGIN, -1, SHELL, "/bin/sh -c ./program");
	sysprof_capture_writer_add_map(writer, BEGIN, -1, SHELL, 0x400000, 0x500000, 0, 7,
				       "/bin/sh");
	sysprof_capture_writer_add_overlay(writer, BEGIN, -1, PROGRAM, 0, "/run/host", "/");
}

static void sample(int pid, int tid, const SysprofCaptureAddress *addresses, unsigned n)
{
	sysprof_capture_writer_add_sample(writer, next(), CPU, pid, tid, addresses, n);
}

static void add_program(void)
{
	const SysprofCaptureAddress jit = sysprof_capture_writer_add_jitmap(writer, "compiled()"),
				    of_shell[] = { IN_USER, 0x401000, 0x402000 },
				    of_both[] = { IN_KERNEL,
						  0xffffffff81000210,
						  0xffffffff81000123,
						  IN_USER,
						  0x11000,
						  0x12000 },
				    of_module[] = { IN_KERNEL, 0xffffffffc0000004 },
				    compiled[] = { IN_USER, jit, 0x11000, 0x7f0000000100, 0x99 };

	sysprof_capture_writer_add_fork(writer, next(), CPU, SHELL, PROGRAM);
	sample(PROGRAM, PROGRAM, of_shell, N_OF(of_shell));
	sysprof_capture_writer_add_process(writer, next(), CPU, PROGRAM, "./program");
	sysprof_capture_writer_add_map_with_build_id(writer, next(), CPU, PROGRAM, 0x10000, 0x20000,
						     0x1000, 8, "/tmp/program",
						     "00112233445566778899aabbccddeeff00112233");
	sysprof_capture_writer_add_map(writer, next(), CPU, PROGRAM, 0x7f0000000000, 0x7f0000001000,
				       0, 0, "[vdso]");
	sample(PROGRAM, PROGRAM, of_both, N_OF(of_both));
	sample(PROGRAM, THREAD, of_module, N_OF(of_module));
	sample(PROGRAM, THREAD, compiled, N_OF(compiled));
	sample(PROGRAM, THREAD, compiled, 0);
	sysprof_capture_writer_add_trace(writer, next(), CPU, PROGRAM, PROGRAM, compiled,
					 N_OF(compiled), true);
	sysprof_capture_writer_add_allocation_copy(writer, next(), CPU, PROGRAM, PROGRAM, 0x5000,
						   64, of_both, N_OF(of_both));
	sysprof_capture_writer_add_allocation_copy(writer, next(), CPU, PROGRAM, PROGRAM, 0x5000, 0,
						   of_both, 0);
}

static void add_rest(void)
{
	const unsigned number = sysprof_capture_writer_request_counter(writer, 1);
	SysprofCaptureCounter counter = { "CPU", "Total", "in percent", .id = 1,
					  .type = SYSPROF_CAPTURE_COUNTER_DOUBLE };
	const SysprofCaptureCounterValue value = { .vdbl = 12.5 };
	static const uint8_t message[] = "l";

	counter.id = number;
	sysprof_capture_writer_define_counters(writer, next(), -1, -1, &counter, 1);
	sysprof_capture_writer_set_counters(writer, next(), -1, -1, &number, &value, 1);
	sysprof_capture_writer_add_mark(writer, next(), CPU, PROGRAM, SECOND / 2000, "group",
					"frame", "a message");
	sysprof_capture_writer_add_log(writer, next(), CPU, PROGRAM, 1 << 4, "domain", "careful");
	sysprof_capture_writer_add_log(writer, next(), CPU, PROGRAM, 1 << 6, "domain",
				       "by the way");
	sysprof_capture_writer_add_dbus_message(writer, next(), CPU, PROGRAM, 1, 0, message, 1);
	sysprof_capture_writer_add_timestamp(writer, next(), CPU, PROGRAM);
	sysprof_capture_writer_add_exit(writer, next(), CPU, PROGRAM);
}

int main(int argc, char **argv)
{
	if (argc != 2 || !(writer = sysprof_capture_writer_new(argv[1], 0)))
		return 1;
	add_machine();
	add_program();
	add_rest();
	sysprof_capture_writer_flush(writer);
	sysprof_capture_writer_unref(writer);
	return 0;
}
