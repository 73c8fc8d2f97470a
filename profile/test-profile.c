/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feeds stacks to the profile by its handlers, and checks its tree and its counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/counts.h"
#include "profile/groups.h"
#include "profile/subtree.h"
#include "profile/threads.h"

static struct stage stage;
static struct stacks stacks;
static struct profile profile;
static struct tree tree;
static struct counts counts;
static size_t n_new; /* stacks seen for the first time */

static int add_frame(struct stage *of, struct stacks *from, const struct named_stack *stack,
		     const struct wire_frame *frame, const struct frame_name *name,
		     uint64_t *ret_value)
{
	return profile_add_frame(&profile, frame, name, ret_value);
}

static int add_stack(struct stage *of, struct stacks *from, const struct named_stack *stack,
		     uint64_t *ret_node)
{
	n_new++;
	return profile_add_stack(&profile, stack, ret_node);
}

static int add_known_stack(struct stage *of, struct stacks *from, const struct named_stack *stack,
			   uint64_t node)
{
	return profile_add_known_stack(&profile, stack, node);
}

enum { PROCESS = 1, PID = 100, IMAGE = 7, MAPPING = 3, START = 0x1000 };

static int set_up(void **state)
{
	static const struct stacks_user user = {
		.add_frame = add_frame,
		.add_stack = add_stack,
		.add_known_stack = add_known_stack,
	};
	struct wire_hello hello = { .stages = "symbolizer" };
	struct wire_process process = { .process = PROCESS,
					.pid = PID,
					.name = wire_string("prog", 64) };
	struct wire_image image = { .image = IMAGE,
				    .kind = WIRE_image_kind_FILE,
				    .path = wire_string("/bin/prog", 64) };
	struct wire_mapping mapping = { .mapping = MAPPING,
					.process = PROCESS,
					.start = START,
					.length = 0x1000,
					.image = IMAGE };

	n_new = 0;
	memset(&stacks, 0, sizeof(stacks));
	stacks_init(&stacks, &user);
	assert_int_equal(stacks_start(&stacks, &hello), 0);
	assert_int_equal(profile_init(&profile, &stacks), 0);
	stacks_handle_process(&stage, &stacks, &process);
	identity_handle_image(&stage, &stacks.identity, &image);
	identity_handle_mapping(&stage, &stacks.identity, &mapping);
	return 0;
}

static int tear_down(void **state)
{
	counts_deinit(&counts);
	tree_deinit(&tree);
	profile_deinit(&profile);
	stacks_deinit(&stacks);
	counters_deinit(&stage.counters);
	return 0;
}

static void name_place(uint64_t offset, const char *name)
{
	struct wire_symbol symbol = { .image = IMAGE,
				      .offset = offset,
				      .start = offset,
				      .size = 16,
				      .name = wire_string(name, 64) };

	assert_int_equal(stacks_handle_symbol(&stage, &stacks, &symbol), 0);
}

static void inline_at(uint64_t offset, const char *name)
{
	struct wire_inlined inlined = { .image = IMAGE,
					.offset = offset,
					.name = wire_string(name, 64) };

	assert_int_equal(stacks_handle_inlined(&stage, &stacks, &inlined), 0);
}

/* A stack of places, one letter each, outermost first: "abc" means that a calls b and b calls c. */
static void sample(uint32_t tid, uint64_t time, const char *letters)
{
	struct wire_frame frames[16];
	size_t n = strlen(letters);
	struct wire_stack stack = { .time = time,
				    .process = PROCESS,
				    .tid = tid,
				    .weight = 1,
				    .end = WIRE_stack_end_COMPLETE,
				    .frames = { frames, n } };

	for (size_t i = 0; i < n; i++)
		frames[n - 1 - i] = (struct wire_frame){
			.address = START + 16 * (letters[i] - 'a' + 1),
			.mapping = MAPPING,
			.flags = WIRE_frame_flags_EXACT,
		};
	if (letters[0] == '!')
		stack = (struct wire_stack){ .time = time,
					     .process = PROCESS,
					     .tid = tid,
					     .end = WIRE_stack_end_TRUNCATED,
					     .frames = { frames, n - 1 } };
	assert_int_equal(stacks_handle_stack(&stage, &stacks, &stack), 0);
}

static void name_letters(const char *letters)
{
	for (; *letters; letters++)
		name_place(16 * (*letters - 'a' + 1), (char[]){ *letters, 0 });
}

static void count(const struct counts_filter *filter)
{
	static const struct counts_filter all;

	assert_int_equal(profile_settle(&profile, &stage), 0);
	assert_int_equal(tree_init(&tree, &profile, TREE_OF_FUNCTIONS), 0);
	assert_int_equal(counts_init(&counts, &tree, filter ? filter : &all), 0);
}

static const struct function_count *of(const char *name)
{
	for (size_t i = 0; i < tree.n_functions; i++)
		if (!strcmp(profile_text(&profile, tree.functions[i].name), name))
			return &counts.functions[i];
	fail_msg("there is no function %s", name);
	return NULL;
}

static void assert_counts(const char *name, uint64_t self, uint64_t total)
{
	assert_int_equal(of(name)->self, self);
	assert_int_equal(of(name)->total, total);
}

static void test_functions_have_self_and_total_samples(void **state)
{
	name_letters("abc");
	sample(PID, 1, "ab");
	sample(PID, 2, "ab");
	sample(PID, 3, "abc");
	sample(PID, 4, "a");
	count(NULL);
	assert_int_equal(counts.n, 4);
	assert_counts("a", 1, 4);
	assert_counts("b", 2, 3);
	assert_counts("c", 1, 1);
	assert_int_equal(profile.n_nodes, 4);
}

static void test_a_recursion_counts_once(void **state)
{
	name_letters("ab");
	sample(PID, 1, "aaba");
	count(NULL);
	assert_counts("a", 1, 1);
	assert_counts("b", 0, 1);
}

static void test_inlined_calls_are_functions(void **state)
{
	inline_at(16, "innermost");
	inline_at(16, "middle");
	name_letters("ab");
	sample(PID, 1, "ba");
	count(NULL);
	assert_counts("innermost", 1, 1);
	assert_counts("middle", 0, 1);
	assert_counts("a", 0, 1);
	assert_int_equal(of("middle") - counts.functions < (long)tree.n_functions, 1);
	assert_int_equal(tree.functions[of("middle")->function].kind, TREE_INLINED);
}

static void test_the_end_reason_is_the_outermost_frame(void **state)
{
	name_letters("a");
	sample(PID, 1, "!a");
	count(NULL);
	assert_counts("[stack-truncated]", 0, 1);
}

static void test_a_renamed_location_is_another_function(void **state)
{
	name_place(16, "first");
	sample(PID, 1, "a");
	name_place(16, "second");
	sample(PID, 2, "a");
	sample(PID, 3, "a");
	count(NULL);
	assert_counts("first", 1, 1);
	assert_counts("second", 2, 2);
}

static void test_repeated_stacks_are_not_resolved_again(void **state)
{
	name_letters("ab");
	for (uint64_t time = 1; time <= 8; time++)
		sample(PID, time, time % 2 ? "ab" : "ba");
	assert_int_equal(n_new, 2);
	sample(PID, 9, "!ab");
	assert_int_equal(n_new, 3);
	count(NULL);
	assert_int_equal(counts.n, 9);
	assert_counts("a", 4, 9);
	assert_counts("b", 5, 9);
}

static void test_late_names_resolve_a_stack_again(void **state)
{
	sample(PID, 1, "ab");
	sample(PID, 2, "ab");
	assert_int_equal(n_new, 2);
	name_letters("ab");
	sample(PID, 3, "ab");
	sample(PID, 4, "ab");
	assert_int_equal(n_new, 3);
	name_place(16, "other");
	sample(PID, 5, "ab");
	assert_int_equal(n_new, 4);
	count(NULL);
	assert_counts("a", 0, 2);
	assert_counts("other", 0, 1);
}

static void test_a_stack_of_other_mappings_is_another_one(void **state)
{
	struct wire_image image = { .image = IMAGE + 1,
				    .kind = WIRE_image_kind_FILE,
				    .path = wire_string("/bin/late", 64) };
	struct wire_mapping mapping = { .mapping = MAPPING + 1,
					.process = PROCESS,
					.start = START,
					.length = 0x1000,
					.image = IMAGE + 1 };

	name_letters("a");
	sample(PID, 1, "a");
	sample(PID, 2, "a");
	identity_handle_image(&stage, &stacks.identity, &image);
	identity_handle_mapping(&stage, &stacks.identity, &mapping);
	sample(PID, 3, "a");
	assert_int_equal(n_new, 2);
	count(NULL);
	assert_counts("a", 2, 2);
	assert_counts("[late+0x10]", 1, 1);
}

static void test_filters_leave_samples_out(void **state)
{
	bool functions[8] = { false };
	struct counts_filter filter = { .from = 2, .to = 3 };

	name_letters("abc");
	sample(PID, 1, "ab");
	sample(PID + 1, 2, "ab");
	sample(PID, 3, "ac");
	sample(PID, 4, "ac");
	count(&filter);
	assert_int_equal(counts.n, 2);
	assert_int_equal(profile.n_threads, 2);
	assert_int_equal(counts.of_thread[0] + counts.of_thread[1], 2);
	functions[of("c")->function] = true;
	counts_deinit(&counts);
	filter = (struct counts_filter){ .functions = functions };
	assert_int_equal(counts_init(&counts, &tree, &filter), 0);
	assert_int_equal(counts.n, 2);
	assert_counts("b", 0, 0);
	assert_counts("a", 0, 2);
}

static void test_weights_are_counted(void **state)
{
	static const struct counts_filter weights = { .view = { VIEW_WEIGHTS, 0 } };

	name_letters("ab");
	sample(PID, 1, "a");
	sample(PID, 2, "ab");
	profile.samples[1].weight = 7;
	count(&weights);
	assert_int_equal(counts.n, 2);
	assert_int_equal(counts.sum, 8);
	assert_counts("a", 1, 8);
	assert_counts("b", 7, 7);
}

static const struct subtree_node *child_of(const struct subtree *subtree, uint32_t node,
					   const char *name)
{
	for (uint32_t child = subtree->nodes[node].first_child; child;
	     child = subtree->nodes[child].next_sibling)
		if (!strcmp(profile_text(&profile,
					 tree.functions[subtree->nodes[child].function].name),
			    name))
			return &subtree->nodes[child];
	fail_msg("there is no branch %s", name);
	return NULL;
}

static void test_callers_and_callees(void **state)
{
	bool functions[8] = { false };
	struct subtree subtree;
	uint32_t node;

	name_letters("abcx");
	sample(PID, 1, "axb");
	sample(PID, 2, "axb");
	sample(PID, 3, "cxb");
	sample(PID, 4, "cxx");
	count(NULL);
	functions[of("x")->function] = true;
	assert_int_equal(subtree_init(&subtree, &counts, SUBTREE_CALLERS, functions), 0);
	node = child_of(&subtree, 0, "x") - subtree.nodes;
	assert_int_equal(subtree.nodes[node].total, 4);
	assert_int_equal(child_of(&subtree, node, "a")->total, 2);
	assert_int_equal(child_of(&subtree, node, "c")->total, 2);
	subtree_deinit(&subtree);
	assert_int_equal(subtree_init(&subtree, &counts, SUBTREE_CALLEES, functions), 0);
	node = child_of(&subtree, 0, "x") - subtree.nodes;
	assert_int_equal(child_of(&subtree, node, "b")->total, 3);
	assert_int_equal(child_of(&subtree, node, "x")->self, 1);
	subtree_deinit(&subtree);
	assert_int_equal(subtree_init(&subtree, &counts, SUBTREE_ALL, NULL), 0);
	assert_int_equal(subtree.nodes[0].total, 4);
	subtree_deinit(&subtree);
}

static void test_samples_are_grouped_by_thread_and_stack(void **state)
{
	struct profile_groups groups;
	struct profile_threads threads;

	name_letters("ab");
	sample(PID, 1, "a");
	sample(PID + 1, 2, "a");
	sample(PID, 3, "ab");
	sample(PID, 4, "a");
	assert_int_equal(profile_groups_init(&groups, &profile), 0);
	assert_int_equal(groups.n, 3);
	assert_int_equal(groups.list[0].n, 2);
	assert_int_equal(profile.samples[groups.order[groups.list[0].first + 1]].time, 4);
	profile_groups_deinit(&groups);
	assert_int_equal(profile_threads_init(&threads, &profile, (struct view){ 0 }), 0);
	assert_int_equal(threads.n, 2);
	assert_int_equal(threads.list[0].n, 3);
	assert_int_equal(profile.samples[threads.list[0].list[2]].time, 4);
	profile_threads_deinit(&threads);
}

static void test_samples_can_be_dropped(void **state)
{
	name_letters("a");
	for (uint64_t time = 1; time <= 5; time++)
		sample(PID, time, "a");
	profile_drop_samples(&profile, 3);
	assert_int_equal(profile.n_samples, 2);
	assert_int_equal(profile.samples[0].time, 4);
	sample(PID, 6, "a");
	assert_int_equal(profile.samples[2].time, 6);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_functions_have_self_and_total_samples),
		TEST(test_a_recursion_counts_once),
		TEST(test_inlined_calls_are_functions),
		TEST(test_the_end_reason_is_the_outermost_frame),
		TEST(test_a_renamed_location_is_another_function),
		TEST(test_repeated_stacks_are_not_resolved_again),
		TEST(test_late_names_resolve_a_stack_again),
		TEST(test_a_stack_of_other_mappings_is_another_one),
		TEST(test_filters_leave_samples_out),
		TEST(test_weights_are_counted),
		TEST(test_callers_and_callees),
		TEST(test_samples_are_grouped_by_thread_and_stack),
		TEST(test_samples_can_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
