/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "common/script/script-place.h"
#include "profile/interpreter-frames.h"

enum { FRAMES_MAX = 32, LIBC = 1, INTERPRETER, EXTENSION, PROGRAM, JIT, SCRIPT };

static struct names names;
static const struct image_table images;

/* The mapping that holds a function, by the begin of its name. */
static uint32_t mapping_of(const char *name)
{
	static const char *const prefixes[] = {
		[LIBC] = "c.",	  [INTERPRETER] = "i.", [EXTENSION] = "e.",
		[PROGRAM] = "p.", [JIT] = "j.",		[SCRIPT] = "s.",
	};

	for (uint32_t i = LIBC; i <= SCRIPT; i++)
		if (!strncmp(name, prefixes[i], 2))
			return i;
	fail_msg("%s", name);
	return 0;
}

static uint64_t script_address; /* of all frames of scripts; 0: of no known language */

/*
 * Checks what remains of a stack. Functions have a letter in front, of where they are; the
 * outermost comes first.
 */
static void assert_remains(const char *text, const char *remains)
{
	struct wire_frame frames[FRAMES_MAX] = { 0 };
	struct named_frame named[FRAMES_MAX], shown[FRAMES_MAX];
	struct wire_stack record = { .frames.data = frames };
	struct named_stack stack = { .record = &record, .frames = named };
	char copy[512], found[512] = "", *save = NULL;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
		uint32_t mapping = mapping_of(name);

		memmove(frames + 1, frames, n * sizeof(*frames));
		frames[0] = (struct wire_frame){
			.mapping = mapping,
			.address = mapping == SCRIPT ? script_address : 0,
		};
		named[n++] = (struct named_frame){
			.label = names_intern(&names, name + 2, strlen(name + 2)),
			.flags = mapping == SCRIPT ? WIRE_frame_flags_SCRIPT : 0,
		};
	}
	record.frames.n = n;
	n = interpreter_frames_hide(&names, &images, &stack, shown);
	for (size_t i = 0; i < n; i++)
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s", i ? " " : "",
			 names_text(&names, shown[i].label));
	assert_string_equal(found, remains);
}

static void test_a_program_of_the_interpreter(void **state)
{
	assert_remains("i._start c.__libc_start_main i.main i.run i.loop s.module s.f c.memcpy",
		       "module f memcpy");
	assert_remains("i._start c.[libc.so.6+0x27000] i.[python3+0x10] i.loop s.module", "module");
	assert_remains(
		"p._start c.__libc_start_main c.[libc.so.6+0x27000] p.[ruby+0x10] i.ruby_run i.loop s.module",
		"module");
	/* A program of its own, which only calls the library. */
	assert_remains("p._start c.__libc_start_main p.main i.Py_BytesMain i.loop s.module i.sum",
		       "module sum");
}

static void test_a_thread_of_it(void **state)
{
	assert_remains("c.clone3 c.start_thread i.thread_run i.loop s.run s.f", "run f");
}

static void test_a_program_that_embeds_it_keeps_its_own(void **state)
{
	assert_remains("p._start c.__libc_start_main p.main p.serve i.PyRun_String i.loop s.module",
		       "_start __libc_start_main main serve module");
}

static void test_callbacks_of_the_interpreter_and_of_others(void **state)
{
	assert_remains("i._start i.loop s.f i.sort i.loop s.key i.compare", "f key compare");
	assert_remains("i._start i.loop s.f i.call e.walk e.visit i.call i.loop s.g",
		       "f walk visit g");
}

static void test_functions_of_another_interpreter_are_not_hidden_without_a_sign(void **state)
{
	assert_remains("i._start c.main i.run i.loop i.run_string i.loop s.module s.f i.loop s.g",
		       "loop module f g");
	assert_remains("i._start i.loop s.f i.switch i.loop i.call i.loop s.g", "f loop g");
}

/* It executes functions of C without one of Lua between. */
static void test_the_loop_of_luajit_is_hidden_everywhere(void **state)
{
	script_address = script_start(SCRIPT_LUAJIT);
	assert_remains("i._start c.main i.lua_cpcall i.loop i.docall i.loop s.main s.f i.sort",
		       "main f sort");
	script_address = 0;
}

/* They are functions of the interpreter, and what they call is shown. */
static void test_operations_of_perl_are_its_loop(void **state)
{
	script_address = script_start(SCRIPT_PERL);
	assert_remains("i._start i.main i.loop s.main s.f i.pp_add", "main f");
	assert_remains("i._start i.main i.loop s.main s.f i.pp_helem i.hv_fetch c.memcmp",
		       "main f hv_fetch memcmp");
	assert_remains("i._start i.main i.loop s.f i.pp_sort c.qsort i.loop s.key i.pp_ncmp",
		       "f qsort key");
	assert_remains("i._start i.main i.loop s.f i.loop i.pp_add", "f loop pp_add");
	assert_remains("i._start i.main i.loop s.f e.sum", "f sum");
	script_address = 0;
	assert_remains("i._start i.main i.loop s.main s.f i.add", "main f add");
}

static void test_a_function_and_its_trampoline_are_one(void **state)
{
	assert_remains(
		"i._start j.py::<module>:/a.py i.loop s.module j.py::f:/a.py i.loop s.f j.kernel",
		"module f kernel");
}

static void test_what_runs_outside_of_scripts_remains(void **state)
{
	assert_remains("i._start c.__libc_start_main i.main i.import i.loop", "");
}

static void test_words(void **state)
{
	bool hides;

	assert_true(interpreter_frames_parse("hide", &hides) && hides);
	assert_true(interpreter_frames_parse("show", &hides) && !hides);
	assert_false(interpreter_frames_parse("", &hides));
}

static int set_up(void **state)
{
	names_init(&names);
	return 0;
}

static int tear_down(void **state)
{
	names_deinit(&names);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_of_the_interpreter),
		cmocka_unit_test(test_a_thread_of_it),
		cmocka_unit_test(test_a_program_that_embeds_it_keeps_its_own),
		cmocka_unit_test(test_callbacks_of_the_interpreter_and_of_others),
		cmocka_unit_test(
			test_functions_of_another_interpreter_are_not_hidden_without_a_sign),
		cmocka_unit_test(test_the_loop_of_luajit_is_hidden_everywhere),
		cmocka_unit_test(test_operations_of_perl_are_its_loop),
		cmocka_unit_test(test_a_function_and_its_trampoline_are_one),
		cmocka_unit_test(test_what_runs_outside_of_scripts_remains),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
