/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the test's own executable, whole and damaged. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-image.h"
#include "common/elf/test-recorded-file.h"

static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64];
static unsigned char *own;
static size_t own_size;

static int set_up(void **state)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/exe", "re");

	if (!file || fseek(file, 0, SEEK_END) < 0)
		return -1;
	own_size = ftell(file) & -8UL; /* aligns what follows it in a larger file */
	rewind(file);
	own = malloc(own_size);
	if (!own || fread(own, own_size, 1, file) != 1 || !mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	return 0;
}

static int tear_down(void **state)
{
	free(own);
	unlink(path);
	return rmdir(dir);
}

/* An image as a recorded stream describes it: path, size and time. */
static struct image recorded(const char *file)
{
	struct image image = { .kind = WIRE_image_kind_FILE, .path = (char *)file };

	record_file(&image);
	return image;
}

static int open_bytes(const void *bytes, size_t size, struct elf_image *ret)
{
	struct image_client nobody = { .fd = -1 };
	struct image image;
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, bytes, size), size);
	image = recorded(path);
	return elf_image_open(&image, &nobody, ret);
}

static void test_a_whole_file_is_read(void **state)
{
	struct elf_image elf;
	struct wire_image_id id;

	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_OK);
	assert_true(elf.n_segments > 0);
	assert_true(elf.low < elf.high);
	elf_image_id(&elf, 42, &id);
	assert_int_equal(id.image, 42);
	elf_image_close(&elf);
	assert_int_equal(elf.fd, -1);
	elf_image_close(&elf); /* must do nothing */
}

/* The loader's base address for this program is the reference for what the file must yield. */
static int find_own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;
}

static void test_offsets_and_addresses_match_the_loader(void **state)
{
	uint64_t base, address, offset, again;
	struct elf_image elf;

	dl_iterate_phdr(find_own_base, &base);
	address = (uint64_t)(uintptr_t)test_a_whole_file_is_read - base;
	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_OK);
	assert_true(address >= elf.low && address < elf.high);
	assert_true(elf_image_offset(&elf, address, &offset));
	assert_memory_equal(own + offset, (void *)(uintptr_t)test_a_whole_file_is_read, 16);
	assert_true(elf_image_address(&elf, offset, &again));
	assert_int_equal(again, address);
	elf_image_close(&elf);
}

static void test_an_executable_segment_begins_with_its_page(void **state)
{
	struct elf_segment segments[] = {
		{ .offset = 0, .size = 0x1234, .address = 0x10000 },
		{ .offset = 0x1234, .size = 0x1000, .address = 0x21234, .is_executable = true },
		{ .offset = 0x2234, .size = 0x100, .address = 0x32234 },
	};
	struct elf_image elf = { .fd = -1, .segments = segments, .n_segments = 3 };
	uint64_t address;

	assert_true(elf_image_address(&elf, 0x1234, &address));
	assert_int_equal(address, 0x21234);
	assert_true(elf_image_address(&elf, 0x1000, &address)); /* in both: executable one */
	assert_int_equal(address, 0x21000);
	assert_true(elf_image_address(&elf, 0xfff, &address));
	assert_int_equal(address, 0x10fff);
	assert_true(elf_image_address(&elf, 0x2233, &address));
	assert_int_equal(address, 0x22233);
	assert_true(elf_image_address(&elf, 0x2300, &address));
	assert_int_equal(address, 0x32300);
	assert_false(elf_image_address(&elf, 0x2334, &address));
	assert_false(elf_image_address(&elf, UINT64_MAX, &address));
	assert_false(elf_image_offset(&elf, 0x20fff, &address));
	assert_false(elf_image_offset(&elf, 0x22234, &address));
	assert_false(elf_image_offset(&elf, UINT64_MAX, &address));
}

static void test_code_is_told_as_linked(void **state)
{
	uint64_t base, words[WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS], address;
	struct wire_addrs code;
	struct elf_image elf;
	bool has_it = false;

	dl_iterate_phdr(find_own_base, &base);
	address = (uint64_t)(uintptr_t)test_a_whole_file_is_read - base;
	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_OK);
	code = elf_image_code(&elf, words);
	for (size_t i = 0; i < code.n; i += WIRE_SEGMENT_WORDS) {
		uint64_t within = address - words[i + 1];

		if (within >= words[i + 2])
			continue;
		has_it = true;
		assert_memory_equal(own + words[i] + within,
				    (void *)(uintptr_t)test_a_whole_file_is_read, 16);
	}
	assert_true(has_it);
	assert_int_equal(elf_image_go_build_id(&elf).size, 0);
	elf_image_close(&elf);
}

static void test_gos_build_id_is_read(void **state)
{
	static const char note[] = "\4\0\0\0\6\0\0\0\4\0\0\0Go\0\0ab/c-d\0\0";
	char *bytes = malloc(own_size);
	Elf64_Ehdr *header = (void *)bytes;
	Elf64_Phdr *segment;
	struct elf_image elf;

	memcpy(bytes, own, own_size);
	segment = (void *)(bytes + header->e_phoff);
	while (segment->p_type != PT_NOTE)
		segment++;
	segment->p_filesz = sizeof(note) - 1;
	segment->p_align = 4;
	memcpy(bytes + segment->p_offset, note, sizeof(note) - 1);
	assert_int_equal(open_bytes(bytes, own_size, &elf), ELF_IMAGE_OK);
	assert_int_equal(elf_image_go_build_id(&elf).size, 6);
	assert_memory_equal(elf_image_go_build_id(&elf).data, "ab/c-d", 6);
	elf_image_close(&elf);
	bytes[segment->p_offset + 4] = 0x7f; /* it says that it is longer than its segment */
	assert_int_equal(open_bytes(bytes, own_size, &elf), ELF_IMAGE_OK);
	assert_int_equal(elf_image_go_build_id(&elf).size, 0);
	elf_image_close(&elf);
	free(bytes);
}

static void test_every_truncation_is_refused_or_harmless(void **state)
{
	struct elf_image elf;

	for (size_t size = 0; size < own_size; size += size < 1024 ? 1 : 997) {
		struct wire_image_id id;
		int r = open_bytes(own, size, &elf);

		assert_in_range(r, ELF_IMAGE_OK, ELF_IMAGE_E_NOT_ELF);
		if (size < sizeof(Elf64_Ehdr))
			assert_int_equal(r, ELF_IMAGE_E_NOT_ELF);
		if (r)
			continue;
		assert_true(elf.n_segments > 0);
		elf_image_id(&elf, 1, &id);
		assert_true(id.build_id.size <= WIRE_BUILD_ID_MAX);
		elf_image_go_build_id(&elf);
		elf_image_close(&elf);
	}
}

static void test_every_flipped_header_byte_is_harmless(void **state)
{
	const Elf64_Ehdr *header = (const void *)own;
	size_t end = header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr);
	struct elf_image elf;

	for (size_t i = 0; i < end; i++) {
		struct wire_image_id id;
		uint64_t address;
		unsigned char kept = own[i];
		int r;

		own[i] ^= 0xff;
		r = open_bytes(own, own_size, &elf);
		own[i] = kept;
		assert_in_range(r, ELF_IMAGE_OK, ELF_IMAGE_E_NOT_ELF);
		if (r)
			continue;
		elf_image_id(&elf, 1, &id);
		elf_image_go_build_id(&elf);
		for (uint64_t offset = 0; offset < own_size; offset += 4096)
			elf_image_address(&elf, offset, &address);
		elf_image_close(&elf);
	}
}

static void test_unsupported_elf_files_are_refused(void **state)
{
	Elf64_Ehdr *header = (void *)own;
	Elf64_Ehdr kept = *header;
	struct elf_image elf;

	assert_int_equal(open_bytes("", 0, &elf), ELF_IMAGE_E_NOT_ELF);
	assert_int_equal(open_bytes("#!/bin/sh\n", 10, &elf), ELF_IMAGE_E_NOT_ELF);
	assert_int_equal(open_bytes("!<arch>\n", 8, &elf), ELF_IMAGE_E_NOT_ELF);
	assert_int_equal(open_bytes("\x1f\x8b\x08", 3, &elf), ELF_IMAGE_E_NOT_ELF);
	header->e_machine = EM_AARCH64;
	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_E_NOT_ELF);
	*header = kept;
	header->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_E_NOT_ELF);
	*header = kept;
	header->e_type = ET_CORE;
	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_E_NOT_ELF);
	*header = kept;
	header->e_phnum = 0;
	assert_int_equal(open_bytes(own, own_size, &elf), ELF_IMAGE_E_NOT_ELF);
	*header = kept;
}

/* The whole file with `n` copies of its first loadable program header, and no others. */
static int open_with_segments(size_t n, struct elf_image *ret)
{
	const Elf64_Ehdr *header = (const void *)own;
	const Elf64_Phdr *loaded = (const void *)(own + header->e_phoff);
	size_t size = own_size + n * sizeof(*loaded);
	_cleanup_free_ unsigned char *larger = calloc(1, size);

	while (loaded->p_type != PT_LOAD)
		loaded++;
	memcpy(larger, own, own_size);
	((Elf64_Ehdr *)larger)->e_phoff = own_size;
	((Elf64_Ehdr *)larger)->e_phnum = n;
	for (size_t i = 0; i < n; i++)
		memcpy(larger + own_size + i * sizeof(*loaded), loaded, sizeof(*loaded));
	return open_bytes(larger, size, ret);
}

static void test_more_segments_than_the_limit_are_refused(void **state)
{
	struct elf_image elf;

	assert_int_equal(open_with_segments(ELF_IMAGE_SEGMENTS_MAX, &elf), ELF_IMAGE_OK);
	assert_int_equal(elf.n_segments, ELF_IMAGE_SEGMENTS_MAX);
	elf_image_close(&elf);
	assert_int_equal(open_with_segments(ELF_IMAGE_SEGMENTS_MAX + 1, &elf), ELF_IMAGE_E_NOT_ELF);
	assert_int_equal(open_with_segments(UINT16_MAX, &elf), ELF_IMAGE_E_NOT_ELF);
}

static void test_only_regular_files_are_available(void **state)
{
	struct image_client nobody = { .fd = -1 };
	struct elf_image elf;
	struct image image;

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	image = recorded(path);
	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_E_UNAVAILABLE);
	unlink(path);
	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_E_UNAVAILABLE);
	image = recorded(dir);
	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_E_UNAVAILABLE);
	image.path = (char *)"";
	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_E_UNAVAILABLE);
}

static void test_memory_without_a_file_is_unavailable(void **state)
{
	struct image_client nobody = { .fd = -1 };
	struct image image = { .kind = WIRE_image_kind_ANONYMOUS, .path = (char *)"//anon" };
	struct elf_image elf;

	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_E_UNAVAILABLE);
	image.kind = WIRE_image_kind_VDSO;
	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_E_UNAVAILABLE);
}

/* The vDSO's bytes come from the stream, so they are untrusted. */
static void test_bytes_of_the_stream_are_read_in_memory(void **state)
{
	struct image_client nobody = { .fd = -1 };
	const Elf64_Ehdr *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct image image = { .kind = WIRE_image_kind_VDSO, .path = (char *)"[vdso]" };
	struct elf_image elf;
	size_t size;

	if (!vdso)
		skip();
	size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	for (size_t cut = size;; cut /= 2) {
		int r;

		/* A block of exactly this size, so that sanitizers detect reads past its end. */
		image.bytes = malloc(cut);
		image.n_bytes = cut;
		memcpy(image.bytes, vdso, cut);
		r = elf_image_open(&image, &nobody, &elf);
		if (cut == size)
			assert_int_equal(r, ELF_IMAGE_OK);
		if (r == ELF_IMAGE_OK) {
			struct wire_image_id id;

			assert_int_equal(elf.fd, -1);
			elf_image_id(&elf, 1, &id);
			elf_image_close(&elf);
		}
		free(image.bytes);
		if (!cut)
			break;
	}
}

/* An earlier stage emitted the vDSO's build-id, and there is no image server. */
static void test_embedded_bytes_need_no_build_id(void **state)
{
	struct image_client nobody = { .fd = -1 };
	struct image image = { .kind = WIRE_image_kind_VDSO,
			       .path = (char *)"[vdso]",
			       .bytes = own,
			       .n_bytes = own_size,
			       .build_id_size = 20 };
	struct elf_image elf;

	assert_int_equal(elf_image_open(&image, &nobody, &elf), ELF_IMAGE_OK);
	elf_image_close(&elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_file_is_read),
		cmocka_unit_test(test_offsets_and_addresses_match_the_loader),
		cmocka_unit_test(test_an_executable_segment_begins_with_its_page),
		cmocka_unit_test(test_code_is_told_as_linked),
		cmocka_unit_test(test_gos_build_id_is_read),
		cmocka_unit_test(test_every_truncation_is_refused_or_harmless),
		cmocka_unit_test(test_every_flipped_header_byte_is_harmless),
		cmocka_unit_test(test_unsupported_elf_files_are_refused),
		cmocka_unit_test(test_more_segments_than_the_limit_are_refused),
		cmocka_unit_test(test_only_regular_files_are_available),
		cmocka_unit_test(test_memory_without_a_file_is_unavailable),
		cmocka_unit_test(test_bytes_of_the_stream_are_read_in_memory),
		cmocka_unit_test(test_embedded_bytes_need_no_build_id),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
