/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists sections made by hand: valid entries are listed, invalid ones are left out. */
#include "common/base/cleanup.h"
#include "common/elf/test-cfi-made.h"

#define _cleanup_made_ _cleanup_(made_deinit)
#define _cleanup_cfi_ _cleanup_(cfi_deinit)

enum { SDATA4_PCREL = DW_EH_PE_pcrel | DW_EH_PE_sdata4 };

static const struct made_common plain = { .augmentation = "" };
static const struct made_common usual = { .augmentation = "zR", .encoding = SDATA4_PCREL };

/* Lists a section; running out of memory is the only error that fails the test. */
static struct cfi list(const struct made *made)
{
	struct cfi_section section = made_section(made);
	struct cfi cfi;

	assert_int_equal(cfi_read(&section, &cfi), 0);
	return cfi;
}

static void assert_range(const struct cfi *cfi, size_t i, uint64_t start, uint64_t end)
{
	assert_in_range(i, 0, cfi->n - 1);
	assert_int_equal(cfi->list[i].start, start);
	assert_int_equal(cfi->list[i].end, end);
}

/* The usual FDE: 0x40 bytes of code, and a one-byte program that identifies it. */
static void put_usual(struct made *made, size_t common, uint64_t start, uint8_t mark)
{
	put_description(made, &(struct made_description){ .common = common,
							  .encoding = SDATA4_PCREL,
							  .start = start,
							  .length = 0x40,
							  NO_AUGMENTATION,
							  PROGRAM(mark) });
}

static void assert_marked(const struct cfi *cfi, size_t i, uint8_t mark)
{
	const struct cfi_description *description = &cfi->list[i];

	assert_int_equal(description->program_end - description->program, 1);
	assert_int_equal(*description->program, mark);
}

static struct dwarf_cursor cursor_of(const void *bytes, size_t size)
{
	return (struct dwarf_cursor){ bytes, (const uint8_t *)bytes + size, false };
}

#define CURSOR(...)                                                                                \
	cursor_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void test_unsigned_numbers_of_any_length_are_read(void **state)
{
	static const uint64_t values[] = { 0,	      1,	  0x7f,		  0x80,
					   0x3fff,    0x4000,	  UINT32_MAX,	  1ULL << 32,
					   INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		_cleanup_made_ struct made made = { 0 };
		struct dwarf_cursor cursor;

		put_uleb(&made, values[i]);
		cursor = cursor_of(made.bytes, made.n);
		assert_int_equal(dwarf_take_uleb(&cursor), values[i]);
		assert_false(cursor.is_bad);
		assert_ptr_equal(cursor.at, cursor.end);
	}
}

static void test_signed_numbers_of_any_length_are_read(void **state)
{
	static const int64_t values[] = { 0,	 1,	    -1,	       63,	  64,
					  -64,	 -65,	    8191,      8192,	  -8192,
					  -8193, INT32_MIN, INT32_MAX, INT64_MAX, INT64_MIN };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		_cleanup_made_ struct made made = { 0 };
		struct dwarf_cursor cursor;

		put_sleb(&made, values[i]);
		cursor = cursor_of(made.bytes, made.n);
		assert_int_equal(dwarf_take_sleb(&cursor), values[i]);
		assert_false(cursor.is_bad);
		assert_ptr_equal(cursor.at, cursor.end);
	}
}

/* Padded numbers: assemblers pad to fix a number's size, here even beyond 64 bits. */
static void test_padded_leb128_numbers_are_read(void **state)
{
	struct dwarf_cursor cursor =
		CURSOR(0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xff, 0x7f);

	assert_int_equal(dwarf_take_uleb(&cursor), 1);
	assert_false(cursor.is_bad);
	cursor = CURSOR(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
	assert_int_equal(dwarf_take_sleb(&cursor), -1);
	assert_ptr_equal(cursor.at, cursor.end);
	assert_false(cursor.is_bad);
}

static void test_reads_past_the_end_give_zero_and_an_error(void **state)
{
	struct dwarf_cursor cursor = CURSOR(1, 2, 3);

	assert_int_equal(dwarf_take(&cursor, 4), 0);
	assert_true(cursor.is_bad);
	assert_ptr_equal(cursor.at, cursor.end); /* not even the remaining bytes can be read */
	cursor = CURSOR(1, 2, 3);
	assert_int_equal(dwarf_take(&cursor, 2), 0x201);
	assert_int_equal(dwarf_take(&cursor, 1), 3);
	assert_false(cursor.is_bad);
	assert_int_equal(dwarf_take(&cursor, 1), 0);
	assert_true(cursor.is_bad);
	cursor = CURSOR(0x80, 0x80);
	dwarf_take_uleb(&cursor);
	assert_true(cursor.is_bad);
	cursor = CURSOR(0xff);
	dwarf_take_sleb(&cursor);
	assert_true(cursor.is_bad);
}

static void test_every_encoding_of_an_address_is_read(void **state)
{
	static const uint8_t formats[] = { DW_EH_PE_absptr, DW_EH_PE_udata2,  DW_EH_PE_udata4,
					   DW_EH_PE_udata8, DW_EH_PE_sdata2,  DW_EH_PE_sdata4,
					   DW_EH_PE_sdata8, DW_EH_PE_uleb128, DW_EH_PE_sleb128 };

	for (size_t i = 0; i < 2 * sizeof(formats); i++) {
		uint8_t encoding = formats[i / 2] | (i % 2 ? DW_EH_PE_pcrel : 0);
		struct made_common common = { .augmentation = "zR", .encoding = encoding };
		_cleanup_made_ struct made made = { .address = 0x1000 };
		_cleanup_cfi_ struct cfi cfi = { 0 };
		size_t at = put_common(&made, &common);

		put_description(&made, &(struct made_description){ .common = at,
								   .encoding = encoding,
								   .start = 0x7000,
								   .length = 0x123,
								   NO_AUGMENTATION,
								   PROGRAM(DW_CFA_nop) });
		cfi = list(&made);
		assert_int_equal(cfi.n, 1);
		assert_range(&cfi, 0, 0x7000, 0x7123);
		assert_marked(&cfi, 0, DW_CFA_nop);
		assert_int_equal(cfi.commons[0].encoding, encoding);
	}
}

/* .eh_frame follows the code in some files and precedes it in others. */
static void test_relative_addresses_go_both_ways(void **state)
{
	_cleanup_made_ struct made made = { .address = 0x500000 };
	_cleanup_cfi_ struct cfi cfi = { 0 };
	size_t at = put_common(&made, &usual);

	put_usual(&made, at, 0x1000, 1);
	put_usual(&made, at, 0x40000000, 2);
	cfi = list(&made);
	assert_int_equal(cfi.n, 2);
	assert_range(&cfi, 0, 0x1000, 0x1040);
	assert_range(&cfi, 1, 0x40000000, 0x40000040);
}

/* These encodings are invalid, or meant for sections that do not describe where code begins. */
static void test_encodings_useless_for_code_are_refused(void **state)
{
	static const uint8_t encodings[] = {
		DW_EH_PE_textrel | DW_EH_PE_udata4,
		DW_EH_PE_datarel | DW_EH_PE_sdata4,
		DW_EH_PE_funcrel | DW_EH_PE_udata8,
		DW_EH_PE_aligned,
		DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_EH_PE_indirect | DW_EH_PE_absptr,
		0x05,
		0x07,
		0x08,
		0x0f,
		DW_EH_PE_omit,
	};

	for (size_t i = 0; i < sizeof(encodings); i++) {
		struct made_common common = { .augmentation = "zR", .encoding = encodings[i] };
		_cleanup_made_ struct made made = { .address = 0x1000 };
		_cleanup_cfi_ struct cfi cfi = { 0 };
		size_t at = put_common(&made, &common);

		put_description(&made, &(struct made_description){ .common = at,
								   .encoding = encodings[i],
								   .start = 0x7000,
								   .length = 0x10,
								   NO_AUGMENTATION });
		cfi = list(&made);
		assert_int_equal(cfi.n, 0);
		assert_int_equal(cfi.n_refused, 1);
	}
}

static void test_an_empty_section_has_no_fdes(void **state)
{
	const struct made made = { 0 };
	struct cfi cfi = list(&made);

	assert_int_equal(cfi.n, 0);
	assert_int_equal(cfi.n_commons, 0);
	assert_int_equal(cfi.n_refused, 0);
	cfi_deinit(&cfi);
}

/* One CIE and one FDE with 64-bit lengths and ids of `id_size` bytes. */
static struct made make_64_bit(enum cfi_kind kind, size_t id_size)
{
	struct made made = { .kind = kind, .address = 0x1000 };
	struct made_description description = { .start = 0x2000, .length = 0x10, PROGRAM(7) };
	uint64_t length, id;
	size_t at;

	for (int i = 0; i < 2; i++) {
		put_number(&made, UINT32_MAX, 4);
		put_number(&made, 0, 8);
		at = made.n;
		id = kind == CFI_EH_FRAME ? 0 : UINT64_MAX;
		if (i)
			id = kind == CFI_EH_FRAME ? made.n : 0; /* the CIE is at 0 */
		put_number(&made, id, id_size);
		if (i)
			put_description_body(&made, &description);
		else
			put_common_body(&made, &plain);
		length = made.n - at;
		memcpy(made.bytes + at - 8, &length, sizeof(length));
	}
	return made;
}

/* LSB: .eh_frame's ids and pointers have 4 bytes even with 64-bit lengths. */
static void test_a_length_of_64_bits_is_read(void **state)
{
	_cleanup_made_ struct made eh_frame = make_64_bit(CFI_EH_FRAME, 4);
	_cleanup_made_ struct made debug_frame = make_64_bit(CFI_DEBUG_FRAME, 8);
	_cleanup_cfi_ struct cfi cfi = list(&eh_frame), other = list(&debug_frame);

	assert_int_equal(cfi.n, 1);
	assert_range(&cfi, 0, 0x2000, 0x2010);
	assert_marked(&cfi, 0, 7);
	assert_int_equal(other.n, 1);
	assert_range(&other, 0, 0x2000, 0x2010);
	assert_marked(&other, 0, 7);
}

/* The return address register is a byte in version 1 and a LEB128 number in later versions. */
static void test_the_versions_of_both_sections_are_read(void **state)
{
	static const uint8_t versions[] = { 1, 3, 4 };

	for (size_t i = 0; i < 2 * sizeof(versions); i++) {
		const struct made_common common = { .version = versions[i / 2],
						    .augmentation = "",
						    .code_factor = 300,
						    .data_factor = -1000,
						    .return_address = 0x90,
						    PROGRAM(1, 2, 3) };
		_cleanup_made_ struct made made = { .kind = i % 2 ? CFI_DEBUG_FRAME
								  : CFI_EH_FRAME };
		_cleanup_cfi_ struct cfi cfi = { 0 };
		size_t at = put_common(&made, &common);

		put_description(&made, &(struct made_description){ .common = at,
								   .start = 0x7000,
								   .length = 0x123,
								   PROGRAM(4) });
		cfi = list(&made);
		assert_int_equal(cfi.n, 1);
		assert_range(&cfi, 0, 0x7000, 0x7123);
		assert_marked(&cfi, 0, 4);
		assert_int_equal(cfi.commons[0].code_factor, 300);
		assert_int_equal(cfi.commons[0].data_factor, -1000);
		assert_int_equal(cfi.commons[0].return_address, 0x90);
		assert_int_equal(cfi.commons[0].program_end - cfi.commons[0].program, 3);
		assert_memory_equal(cfi.commons[0].program, "\1\2\3", 3);
	}
}

static void assert_refused(const struct made *made)
{
	_cleanup_cfi_ struct cfi cfi = list(made);

	assert_int_equal(cfi.n, 0);
	assert_int_equal(cfi.n_refused, 1);
}

static void test_an_unknown_version_is_refused(void **state)
{
	static const uint8_t versions[] = { 2, 5, 255 };

	for (size_t i = 0; i < sizeof(versions); i++) {
		_cleanup_made_ struct made made = { 0 };
		size_t at = put_common(
			&made, &(struct made_common){ .version = versions[i], .augmentation = "" });

		put_description(
			&made, &(struct made_description){ .common = at, .start = 1, .length = 1 });
		assert_refused(&made);
	}
}

/* CIE version 4 holds an address size, which may be another machine's, and a segment size. */
static void test_addresses_of_another_size_are_refused(void **state)
{
	static const uint8_t sizes[][2] = { { 4, 0 }, { 8, 1 }, { 0, 0 } };
	enum { SIZES_AT = 4 + 4 + 1 + 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		_cleanup_made_ struct made made = { .kind = CFI_DEBUG_FRAME };
		size_t at = put_common(&made,
				       &(struct made_common){ .version = 4, .augmentation = "" });

		put_description(
			&made, &(struct made_description){ .common = at, .start = 1, .length = 1 });
		memcpy(made.bytes + SIZES_AT, sizes[i], 2);
		assert_refused(&made);
	}
}

/* Lists one FDE whose CIE has this augmentation. */
static struct cfi list_with(struct made *made, const char *augmentation)
{
	size_t at = put_common(made, &(struct made_common){ .augmentation = augmentation,
							    .encoding = SDATA4_PCREL });
	bool is_relative = strchr(augmentation, 'R');

	put_description(made, &(struct made_description){
				      .common = at,
				      .encoding = is_relative ? SDATA4_PCREL : DW_EH_PE_absptr,
				      .start = 0x2000,
				      .length = 0x10,
				      .augmentation = (const uint8_t[]){ 4, 1, 2, 3, 4 },
				      .augmentation_size = *augmentation == 'z' ? 5 : 0,
				      PROGRAM(9) });
	return list(made);
}

static void test_augmentations_are_read_and_their_data_skipped(void **state)
{
	static const struct {
		const char *augmentation;
		bool is_signal_frame;
	} cases[] = {
		{ "", false },	  { "z", false },   { "zR", false },  { "zPLR", false },
		{ "zRS", true },  { "zSR", true },  { "zRB", false }, { "zPLRS", true },
		{ "zRX", false }, { "zRG", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_made_ struct made made = { .address = 0x1000 };
		_cleanup_cfi_ struct cfi cfi = list_with(&made, cases[i].augmentation);

		assert_int_equal(cfi.n, 1);
		assert_range(&cfi, 0, 0x2000, 0x2010);
		assert_marked(&cfi, 0, 9);
		assert_int_equal(cfi.commons[0].is_signal_frame, cases[i].is_signal_frame);
		assert_int_equal(cfi.commons[0].has_augmentation_size,
				 cases[i].augmentation[0] == 'z');
	}
}

/* Without a size the start of the program is unknown: "eh", for example, puts a pointer there. */
static void test_an_augmentation_without_a_size_is_refused(void **state)
{
	static const char *const augmentations[] = { "eh", "R", "S", "Z", "armcc+" };

	for (size_t i = 0; i < sizeof(augmentations) / sizeof(augmentations[0]); i++) {
		_cleanup_made_ struct made made = { 0 };
		_cleanup_cfi_ struct cfi cfi = list_with(&made, augmentations[i]);

		assert_int_equal(cfi.n, 0);
		assert_int_equal(cfi.n_refused, 1);
	}
}

static void test_augmentation_beyond_its_entry_is_refused(void **state)
{
	_cleanup_made_ struct made made = { 0 };
	size_t at = put_common(&made, &(struct made_common){ .augmentation = "z" });

	put_description(&made, &(struct made_description){
				       .common = at,
				       .start = 0x2000,
				       .length = 0x10,
				       .augmentation = (const uint8_t[]){ 2, 0 },
				       .augmentation_size = 2,
			       });
	put_number(&made, 0, 8); /* bytes that it would reach into */
	assert_refused(&made);
}

/* Its characters require more data than its size allows. */
static void test_augmentation_beyond_its_size_is_refused(void **state)
{
	enum { SIZE_AT = 4 + 4 + 1 + 3 + 3 };
	_cleanup_made_ struct made made = { 0 };
	size_t at = put_common(
		&made, &(struct made_common){ .augmentation = "zR", .encoding = DW_EH_PE_absptr });

	put_description(&made,
			&(struct made_description){
				.common = at, .start = 0x2000, .length = 0x10, NO_AUGMENTATION });
	assert_int_equal(made.bytes[SIZE_AT], 1);
	made.bytes[SIZE_AT] = 0;
	assert_refused(&made);
}

static void test_debug_frame_fde_may_precede_its_cie(void **state)
{
	_cleanup_made_ struct made made = { .kind = CFI_DEBUG_FRAME };
	struct made_description description = { .start = 0x2000, .length = 0x10, PROGRAM(5) };
	_cleanup_cfi_ struct cfi cfi = { 0 };
	size_t at;

	put_description(&made, &description);
	at = put_common(&made, &plain);
	memcpy(made.bytes + 4, &at, 4);
	description.common = at;
	description.start = 0x3000;
	put_description(&made, &description);
	cfi = list(&made);
	assert_int_equal(cfi.n, 2);
	assert_range(&cfi, 0, 0x2000, 0x2010);
	assert_marked(&cfi, 0, 5);
	assert_int_equal(cfi.list[0].common, 0);
}

static void test_each_fde_finds_its_cie(void **state)
{
	_cleanup_made_ struct made made = { .address = 0x1000 };
	_cleanup_cfi_ struct cfi cfi = { 0 };
	size_t at[5];

	for (size_t i = 0; i < 5; i++)
		at[i] = put_common(&made, &(struct made_common){ .augmentation = "zR",
								 .encoding = SDATA4_PCREL,
								 .code_factor = i + 1 });
	for (size_t i = 0; i < 20; i++)
		put_usual(&made, at[i * 3 % 5], 0x2000 + i * 0x40, i);
	cfi = list(&made);
	assert_int_equal(cfi.n, 20);
	assert_int_equal(cfi.n_commons, 5);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(cfi.commons[cfi.list[i].common].code_factor, i * 3 % 5 + 1);
}

static void test_an_fde_without_a_cie_is_refused(void **state)
{
	_cleanup_made_ struct made none = { 0 }, wrong = { 0 };
	size_t at;

	put_usual(&none, 0, 0x1000, 0); /* the FDE itself is at 0 */
	assert_refused(&none);
	at = put_common(&wrong, &usual);
	put_usual(&wrong, at + 1, 0x1000, 0);
	assert_refused(&wrong);
}

/* The pointer of .eh_frame is an unsigned distance backwards. */
static void test_eh_frame_cie_must_precede_its_fde(void **state)
{
	_cleanup_made_ struct made made = { 0 };
	uint32_t back;
	size_t at;

	put_usual(&made, 0, 0x1000, 0);
	at = put_common(&made, &usual);
	back = 4 - at;
	memcpy(made.bytes + 4, &back, sizeof(back));
	assert_refused(&made);
}

static void test_a_range_that_is_empty_or_wraps_is_refused(void **state)
{
	static const uint64_t ranges[][2] = {
		{ 0x1000, 0 }, { UINT64_MAX, 1 }, { UINT64_MAX - 15, 0x20 }, { 0x1000, UINT64_MAX }
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		_cleanup_made_ struct made made = { 0 };
		size_t at = put_common(&made, &plain);

		put_description(&made, &(struct made_description){ .common = at,
								   .start = ranges[i][0],
								   .length = ranges[i][1] });
		assert_refused(&made);
	}
}

static void test_fdes_are_sorted(void **state)
{
	_cleanup_made_ struct made made = { .address = 0x1000 };
	_cleanup_cfi_ struct cfi cfi = { 0 };
	size_t at = put_common(&made, &usual);

	for (uint64_t i = 0; i < 7; i++)
		put_usual(&made, at, 0x2000 + i * 3 % 7 * 0x100, i * 3 % 7);
	cfi = list(&made);
	assert_int_equal(cfi.n, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_range(&cfi, i, 0x2000 + i * 0x100, 0x2040 + i * 0x100);
		assert_marked(&cfi, i, i);
	}
}

static void test_duplicates_stay_in_the_order_of_the_section(void **state)
{
	for (uint64_t last = 0x1800; last <= 0x2800; last += 0x1000) { /* unsorted, then sorted */
		_cleanup_made_ struct made made = { .address = 0x1000 };
		_cleanup_cfi_ struct cfi cfi = { 0 };
		size_t at = put_common(&made, &usual), first = last < 0x2000;

		for (uint8_t i = 0; i < 5; i++)
			put_usual(&made, at, 0x2000, i);
		put_usual(&made, at, last, 5);
		cfi = list(&made);
		assert_int_equal(cfi.n, 6);
		for (size_t i = 0; i < 5; i++) {
			assert_range(&cfi, first + i, 0x2000, 0x2040);
			assert_marked(&cfi, first + i, i);
		}
	}
}

static void test_a_length_of_zero_ends_a_section(void **state)
{
	_cleanup_made_ struct made made = { .address = 0x1000 };
	_cleanup_cfi_ struct cfi cfi = { 0 };
	size_t at = put_common(&made, &usual);

	put_usual(&made, at, 0x2000, 1);
	put_number(&made, 0, 4);
	put_usual(&made, at, 0x3000, 2);
	cfi = list(&made);
	assert_int_equal(cfi.n, 1);
	assert_marked(&cfi, 0, 1);
	assert_int_equal(cfi.n_refused, 0);
}

/* Entries after such a length cannot be found; those before it are kept. */
static void test_a_length_beyond_the_end_ends_a_section(void **state)
{
	static const uint32_t lengths[] = { 0x7fffffff, 0xfffffffe, UINT32_MAX };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		_cleanup_made_ struct made made = { .address = 0x1000 };
		_cleanup_cfi_ struct cfi cfi = { 0 };
		size_t at = put_common(&made, &usual), last;

		put_usual(&made, at, 0x2000, 1);
		last = made.n;
		put_usual(&made, at, 0x3000, 2);
		memcpy(made.bytes + last, &lengths[i], 4);
		cfi = list(&made);
		assert_int_equal(cfi.n, 1);
		assert_marked(&cfi, 0, 1);
	}
}

static bool is_inside(const struct cfi_section *section, const uint8_t *at, const uint8_t *end)
{
	return at >= section->bytes && at <= end && end <= section->bytes + section->size;
}

/* Invariants of every list, whatever its input. */
static void assert_sane(const struct cfi *cfi)
{
	const struct cfi_section *section = &cfi->section;

	for (size_t i = 0; i < cfi->n; i++) {
		const struct cfi_description *description = &cfi->list[i];
		const struct cfi_common *common = &cfi->commons[description->common];

		assert_true(description->end > description->start);
		assert_true(i == 0 || description->start >= cfi->list[i - 1].start);
		assert_true(is_inside(section, description->program, description->program_end));
		assert_true(description->common < cfi->n_commons);
		assert_true(common->is_good);
		assert_true(is_inside(section, common->program, common->program_end));
	}
}

/* A section with every kind of entry. */
static struct made make_rich(enum cfi_kind kind)
{
	struct made made = { .kind = kind, .address = 0x1000 };
	size_t at[4];

	at[0] = put_common(&made, &usual);
	at[1] = put_common(&made, &(struct made_common){ .version = 3,
							 .augmentation = "zPLRS",
							 .encoding = SDATA4_PCREL,
							 PROGRAM(0x0c, 7, 8, 0x90, 1) });
	at[2] = put_common(&made, &(struct made_common){ .version = 4, .augmentation = "" });
	at[3] = put_common(
		&made, &(struct made_common){ .augmentation = "zR", .encoding = DW_EH_PE_uleb128 });
	put_usual(&made, at[0], 0x2100, 1);
	put_usual(&made, at[1], 0x2000, 2);
	put_description(&made, &(struct made_description){ .common = at[2],
							   .start = 0x2200,
							   .length = 0x80,
							   PROGRAM(0x41, 0x0e, 16, 0x86, 2) });
	put_description(&made, &(struct made_description){ .common = at[3],
							   .encoding = DW_EH_PE_uleb128,
							   .start = 0x2100,
							   .length = 0x80,
							   NO_AUGMENTATION,
							   PROGRAM(0x03, 1, 0, 0x0d, 6) });
	return made;
}

static void test_every_truncation_gives_a_sane_list(void **state)
{
	for (enum cfi_kind kind = CFI_EH_FRAME; kind <= CFI_DEBUG_FRAME; kind++) {
		_cleanup_made_ struct made whole = make_rich(kind);

		for (size_t size = 0; size <= whole.n; size++) {
			_cleanup_made_ struct made cut = { .kind = kind, .address = 0x1000 };
			_cleanup_cfi_ struct cfi cfi = { 0 };

			put_bytes(&cut, whole.bytes, size);
			cfi = list(&cut);
			assert_sane(&cfi);
			assert_int_equal(cfi.n == 4, size == whole.n);
		}
	}
}

static void test_every_flipped_bit_gives_a_sane_list(void **state)
{
	for (enum cfi_kind kind = CFI_EH_FRAME; kind <= CFI_DEBUG_FRAME; kind++) {
		_cleanup_made_ struct made made = make_rich(kind);

		for (size_t i = 0; i < made.n * 8; i++) {
			_cleanup_cfi_ struct cfi cfi = { 0 };

			made.bytes[i / 8] ^= 1 << i % 8;
			cfi = list(&made);
			assert_sane(&cfi);
			made.bytes[i / 8] ^= 1 << i % 8;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unsigned_numbers_of_any_length_are_read),
		cmocka_unit_test(test_signed_numbers_of_any_length_are_read),
		cmocka_unit_test(test_padded_leb128_numbers_are_read),
		cmocka_unit_test(test_reads_past_the_end_give_zero_and_an_error),
		cmocka_unit_test(test_every_encoding_of_an_address_is_read),
		cmocka_unit_test(test_relative_addresses_go_both_ways),
		cmocka_unit_test(test_encodings_useless_for_code_are_refused),
		cmocka_unit_test(test_an_empty_section_has_no_fdes),
		cmocka_unit_test(test_a_length_of_64_bits_is_read),
		cmocka_unit_test(test_the_versions_of_both_sections_are_read),
		cmocka_unit_test(test_an_unknown_version_is_refused),
		cmocka_unit_test(test_addresses_of_another_size_are_refused),
		cmocka_unit_test(test_augmentations_are_read_and_their_data_skipped),
		cmocka_unit_test(test_an_augmentation_without_a_size_is_refused),
		cmocka_unit_test(test_augmentation_beyond_its_entry_is_refused),
		cmocka_unit_test(test_augmentation_beyond_its_size_is_refused),
		cmocka_unit_test(test_debug_frame_fde_may_precede_its_cie),
		cmocka_unit_test(test_each_fde_finds_its_cie),
		cmocka_unit_test(test_an_fde_without_a_cie_is_refused),
		cmocka_unit_test(test_eh_frame_cie_must_precede_its_fde),
		cmocka_unit_test(test_a_range_that_is_empty_or_wraps_is_refused),
		cmocka_unit_test(test_fdes_are_sorted),
		cmocka_unit_test(test_duplicates_stay_in_the_order_of_the_section),
		cmocka_unit_test(test_a_length_of_zero_ends_a_section),
		cmocka_unit_test(test_a_length_beyond_the_end_ends_a_section),
		cmocka_unit_test(test_every_truncation_gives_a_sane_list),
		cmocka_unit_test(test_every_flipped_bit_gives_a_sane_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
