/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/stream/build-id.h"
#include "symbolizer/file-names.h"
#include "symbolizer/symbols/demangle.h"
#include "symbolizer/symbols/symbol-name.h"
#include "symbolizer/symbols/symbol-table.h"

enum { LATE_MAX = 6 };		  /* times that a late file is looked for again */
#define LATE_WAIT_NS 100000000ULL /* before the first time; doubles */

/* Drops symbols whose names point into the file about to be closed. */
static void forget_symbols(struct image *image, void *arg)
{
	struct file_names *names = arg;
	uint64_t *known = pair_map_find(&names->symbols, image->number, 0);
	struct image_symbols *symbols = known ? (struct image_symbols *)*known : NULL;

	if (!known)
		return;
	if (symbols)
		names->n_refused += image_symbols_refused(symbols);
	if (symbols == names->keeping)
		names->keeping = NULL;
	image_symbols_free(symbols);
	pair_map_remove(&names->symbols, image->number, 0);
	pair_map_remove(&names->same, image->number, 0);
}

void file_names_init(struct file_names *names)
{
	names->dirs.list[names->dirs.n++] = "/usr/lib/debug";
	names->files.client.fd = -1;
	names->options.kept = -1;
	pair_map_init(&names->symbols, IMAGE_TABLE_MAX);
	pair_map_init(&names->counts, IMAGE_TABLE_MAX);
	pair_map_init(&names->late, IMAGE_TABLE_MAX);
	pair_map_init(&names->same, IMAGE_TABLE_MAX);
	same_files_init(&names->same_files);
	downloads_init(&names->downloads);
}

int file_names_begin(struct file_names *names, struct stage *stage, struct image_table *images,
		     const struct wire_hello *hello)
{
	int r = elf_cache_init(&names->files, stage, images, hello);

	names->stage = stage;
	names->n_inlined = counters_get(&stage->counters, "places", "inlined-calls");
	names->n_from_disk = counters_get(&stage->run_counters, "symbols", "from-disk");
	names->files.weight_max = FILE_NAMES_SIZE_MAX;
	names->files.before_close = forget_symbols;
	names->files.arg = names;
	names->files.client.dirs = names->dirs.list;
	names->files.client.n_dirs = names->dirs.n;
	names->files.client.takes_debug_files = true;
	names->files.client.trust.vouched = names->dirs.list + 1;
	names->files.client.trust.n_vouched = names->dirs.n - 1;
	names->dirs.trust = &names->files.client.trust;
	return r < 0 ? r : downloads_begin(&names->downloads, stage, &names->dirs);
}

void file_names_deinit(struct file_names *names)
{
	pair_map_deinit(&names->symbols);
	pair_map_deinit(&names->counts);
	pair_map_deinit(&names->late);
	pair_map_deinit(&names->same);
	same_files_deinit(&names->same_files);
	downloads_deinit(&names->downloads);
	elf_cache_deinit(&names->files);
	if (names->options.kept >= 0)
		close(names->options.kept);
}

/* The symbols of an image, read at first use; NULL: no memory. */
static struct image_symbols *find_symbols(struct file_names *names, struct image *image,
					  const struct elf_image *elf)
{
	uint64_t *known = pair_map_find(&names->symbols, image->number, 0);
	struct debug_dirs dirs = names->dirs;
	struct image_symbols *symbols = NULL;
	struct stat status;

	if (known)
		return (struct image_symbols *)*known;
	if (elf->fd >= 0 && fstat(elf->fd, &status) == 0)
		dirs.asker = file_writers_of(&status);
	if (image->kind == WIRE_image_kind_FILE) {
		dirs.client = &names->files.client;
		dirs.image = image->number;
	}
	if (image_symbols_new(elf, image->path, &dirs, &names->options, &symbols) < 0)
		symbols = NULL;
	*names->n_from_disk += symbols && image_symbols_were_kept(symbols);
	names->may_keep = true;
	pair_map_add(&names->symbols, image->number, 0, (uintptr_t)symbols);
	return symbols;
}

static struct image *find_image(const struct file_names *names, uint64_t number)
{
	return image_table_find(names->files.table, number);
}

/*
 * The image whose symbols `image` uses: the first with the same file while its symbols exist;
 * afterwards `image` itself, also for later images.
 */
static struct image *find_first(struct file_names *names, struct image *image,
				const struct elf_image *elf)
{
	uint64_t *known = pair_map_find(&names->same, image->number, 0);
	uint64_t first = known ? *known : same_files_find(&names->same_files, elf, image->number);

	if (first != image->number &&
	    (!pair_map_find(&names->symbols, first, 0) || !find_image(names, first))) {
		same_files_replace(&names->same_files, elf, image->number);
		first = image->number;
	}
	if (known)
		*known = first;
	else /* without memory it is looked up again for the next location */
		pair_map_add(&names->same, image->number, 0, first);
	return first == image->number ? image : find_image(names, first);
}

/* Emits a call inlined at the location of `symbol`. 0 or -errno. */
static int put_inlined(struct file_names *names, const struct wire_symbol *symbol,
		       const struct inline_call *call)
{
	_cleanup_free_ char *demangled = call->name ? demangle(call->name) : NULL;
	const char *name = demangled ? demangled : call->name ? call->name : "[inlined]";
	char room[LONG_NAME_MAX + 1];
	struct wire_inlined record = {
		.image = symbol->image,
		.offset = symbol->offset,
		.name = symbol_name_fit(names->stage, name, 0, room),
		.file = wire_string(call->file, PATH_MAX),
		.line = call->line,
		.column = call->column,
	};

	++*names->n_inlined;
	return stage_put(names->stage, WIRE_RECORD_inlined, &record);
}

/* Names the function. Its symbol shows copies (".cold"), which DWARF does not. */
static void name_function(const struct file_names *names, struct image_symbols *symbols,
			  char **ret_demangled, char room[LONG_NAME_MAX + 1],
			  struct wire_symbol *symbol)
{
	const struct place_symbols *found = &names->found;
	const struct inline_call *function =
		found->n_calls ? &found->calls[found->n_calls - 1] : NULL;
	const char *name = NULL;

	if (function) {
		symbol->file = wire_string(function->file, PATH_MAX);
		symbol->line = function->line;
		symbol->column = function->column;
	}
	if (found->symbol) {
		name = image_symbols_name(symbols, found->symbol);
	} else if (function && function->name) {
		*ret_demangled = demangle(function->name);
		name = *ret_demangled ? *ret_demangled : function->name;
	}
	symbol->name = symbol_name_fit(names->stage, name, 0, room);
}

/* Counts samples in code without debug information, so that users see what to install. */
static void tally_image(struct file_names *names, const struct image *image,
			const struct image_symbols *symbols)
{
	char name[256], hex[BUILD_ID_TEXT];

	if (names->options.depth == IMAGE_SYMBOLS_FUNCTIONS_ONLY ||
	    image->kind != WIRE_image_kind_FILE || image_symbols_has_debug_info(symbols) ||
	    names->found.n_calls)
		return;
	downloads_ask(&names->downloads, image->build_id, image->build_id_size);
	if (pair_map_find(&names->counts, image->number, 0))
		return;
	build_id_text(image->build_id, image->build_id_size, hex);
	snprintf(name, sizeof(name), "%.100s (build-id %s)", image_name(image),
		 *hex ? hex : "none");
	pair_map_add(&names->counts, image->number, 0,
		     (uintptr_t)counters_get(&names->stage->counters, "no-debug-info", name));
}

/* A busy image server may have answered too late. False: the file is not looked for again. */
static bool note_late(struct file_names *names, uint64_t image)
{
	const uint64_t *n = pair_map_find(&names->late, image, 0);
	uint64_t n_asked = n ? *n : 1;

	if (n_asked > LATE_MAX || (!n && pair_map_add(&names->late, image, 0, n_asked) < 0))
		return false;
	if (!names->asked_again_at)
		names->asked_again_at =
			clock_now(CLOCK_MONOTONIC) + (LATE_WAIT_NS << (n_asked - 1));
	return true;
}

int file_names_put(struct file_names *names, struct image *of_place, struct wire_symbol *symbol)
{
	const struct elf_image *own = elf_cache_get(&names->files, of_place);
	struct image *image = own ? find_first(names, of_place, own) : of_place;
	const struct elf_image *elf = image == of_place ? own : elf_cache_get(&names->files, image);
	struct image_symbols *symbols = elf ? find_symbols(names, image, elf) : NULL;
	_cleanup_free_ char *demangled = NULL;
	struct place_symbols *found = &names->found;
	char room[LONG_NAME_MAX + 1];
	uint64_t address;
	int r = 0;

	if (!symbols || !elf_image_address(elf, symbol->offset, &address))
		return stage_put(names->stage, WIRE_RECORD_symbol, symbol);
	image_symbols_find_debug(symbols);
	elf_cache_weigh(&names->files, image, image_symbols_size(symbols));
	if (image_symbols_find(symbols, address, found) < 0)
		++*counters_get(&names->stage->counters, "refused", "memory");
	elf_cache_weigh(&names->files, image, image_symbols_size(symbols));
	if (!elf_image_is_unchanged(elf)) { /* the data read may be of newer content */
		++*counters_get(&names->stage->counters, "images", "written-to");
		return stage_put(names->stage, WIRE_RECORD_symbol, symbol);
	}
	if (!image_symbols_is_late(symbols) || !note_late(names, image->number))
		tally_image(names, of_place, symbols);
	symbol->start = symbol->offset - (address - found->start);
	symbol->size = found->size;
	name_function(names, symbols, &demangled, room, symbol);
	for (size_t i = 0; i + 1 < found->n_calls && r == 0; i++)
		r = put_inlined(names, symbol, &found->calls[i]);
	return r < 0 ? r : stage_put(names->stage, WIRE_RECORD_symbol, symbol);
}

/* Chooses the first symbols that are not kept yet. */
static void choose_unkept(uint64_t image, uint64_t zero, uint64_t value, void *arg)
{
	struct file_names *names = arg;
	struct image_symbols *symbols = (struct image_symbols *)value;

	if (!names->keeping && symbols && image_symbols_wait_to_be_kept(symbols))
		names->keeping = symbols;
}

bool file_names_keep(struct file_names *names)
{
	if (!names->keeping && names->may_keep) {
		pair_map_each(&names->symbols, choose_unkept, names);
		names->may_keep = names->keeping;
	}
	if (names->keeping && !image_symbols_keep(names->keeping))
		names->keeping = NULL;
	return names->may_keep;
}

uint64_t *file_names_count(const struct file_names *names, uint64_t image)
{
	uint64_t *count = pair_map_find(&names->counts, image, 0);

	return count ? (uint64_t *)*count : NULL;
}

struct arrival {
	struct file_names *names;
	const struct debuginfod_build_id *id;
};

/* Drops an image's symbols, to be read again on demand with the downloaded debug file. */
static bool is_not_of_arrival(uint64_t number, uint64_t zero, uint64_t count, void *arg)
{
	const struct arrival *arrival = arg;
	struct image *image = image_table_find(arrival->names->files.table, number);

	if (!image || image->build_id_size != arrival->id->size ||
	    memcmp(image->build_id, arrival->id->bytes, arrival->id->size))
		return true;
	forget_symbols(image, arrival->names);
	return false;
}

static void forget_late(uint64_t number, uint64_t zero, uint64_t n_asked, void *arg)
{
	struct file_names *names = arg;
	uint64_t *known = pair_map_find(&names->symbols, number, 0);
	struct image_symbols *symbols = known ? (struct image_symbols *)*known : NULL;
	struct image *image = find_image(names, number);

	if (n_asked > LATE_MAX || !image || !symbols || !image_symbols_is_late(symbols))
		return;
	++*pair_map_find(&names->late, number, 0);
	forget_symbols(image, names);
}

/* Drops the symbols of images whose debug files were late, to be read again on demand. */
static bool ask_again(struct file_names *names)
{
	if (!names->asked_again_at || clock_now(CLOCK_MONOTONIC) < names->asked_again_at)
		return false;
	names->asked_again_at = 0;
	pair_map_each(&names->late, forget_late, names);
	return true;
}

bool file_names_take_late(struct file_names *names)
{
	struct debuginfod_build_id id;
	struct arrival arrival = { names, &id };
	bool any = ask_again(names);

	while (downloads_take(&names->downloads, &id)) {
		pair_map_keep(&names->counts, is_not_of_arrival, &arrival);
		any = true;
	}
	return any;
}

static bool is_of_living_image(uint64_t image, uint64_t zero, uint64_t value, void *arg)
{
	const struct file_names *names = arg;

	return image_table_find(names->files.table, image);
}

void file_names_forget_ended(struct file_names *names)
{
	pair_map_prune(&names->counts, is_of_living_image, names);
	pair_map_prune(&names->late, is_of_living_image, names);
}

void file_names_report_untrusted(const struct file_names *names)
{
	const struct file_trust *trust = &names->files.client.trust;

	if (!trust->n_refused)
		return;
	*counters_get(&names->stage->counters, "refused", "untrusted-files") = trust->n_refused;
	stage_warn(names->stage,
		   "untrusted debug files were refused %" PRIu64
		   " times, first '%s': users other than their program's owner, root and you can "
		   "write to them; chown or chmod them, or name their directory with --debug-dir",
		   trust->n_refused, trust->first_refused ? trust->first_refused : "");
}

static void add_refused(uint64_t image, uint64_t zero, uint64_t value, void *arg)
{
	const struct image_symbols *symbols = (struct image_symbols *)value;

	*(uint64_t *)arg += symbols ? image_symbols_refused(symbols) : 0;
}

uint64_t file_names_refused(const struct file_names *names)
{
	uint64_t n = names->n_refused;

	pair_map_each(&names->symbols, add_refused, &n);
	return n;
}
