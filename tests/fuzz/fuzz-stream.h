/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For targets that make a stream of hostile files: the file, silence, and whether it is a stream.
 */
#pragma once

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/stage-internal.h"
#include "tests/fuzz/fuzz.h"

/* A file of an input; what others can change is copied, what they cannot is used where it lies. */
static inline int fuzz_make_file(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz-input", MFD_CLOEXEC);

	fuzz_check(fd >= 0 && (size_t)write(fd, bytes, size) == size);
	fuzz_check(fchmod(fd, size % 2 ? 0666 : 0600) == 0);
	return fd;
}

/* There is a line for each damaged input: nobody reads them. Returns what stderr was. */
static inline FILE *fuzz_be_silent(void)
{
	static FILE *nowhere;
	FILE *errors = stderr;

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	fuzz_check(nowhere);
	stderr = nowhere;
	return errors;
}

/* Everything that was written has to be records that can be read. */
static inline void fuzz_check_stream(int fd)
{
	struct wire_reader reader;
	enum wire_outcome outcome;
	struct wire_hello hello;
	struct wire_raw raw;

	lseek(fd, 0, SEEK_SET);
	fuzz_check(wire_reader_init(&reader, fd) == 0);
	fuzz_check(wire_reader_fill(&reader) == 0);
	if (!reader.at_end)
		fuzz_check(wire_reader_hello(&reader, &hello) == WIRE_OK);
	while (!reader.at_end) {
		union wire_view view;

		while ((outcome = wire_reader_next(&reader, &raw)) == WIRE_OK)
			fuzz_check(wire_decode(wire_type(raw.header->type), raw.header,
					       raw.header->size, reader.peer_minor,
					       &view) == WIRE_OK);
		fuzz_check(outcome == WIRE_E_MORE);
		fuzz_check(wire_reader_fill(&reader) == 0);
	}
	wire_reader_deinit(&reader);
}
