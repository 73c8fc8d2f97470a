/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/file/file-trust.h"

enum { SOMEBODY = 4711, SOMEBODY_ELSE = 4712, THEIR_GROUP = 4713 };

static struct stat file_of(uid_t user, gid_t group, mode_t mode)
{
	return (struct stat){ .st_uid = user, .st_gid = group, .st_mode = S_IFREG | mode };
}

static bool is_believed(struct stat file, struct stat asker)
{
	const struct file_writers writers = file_writers_of(&asker);

	return file_is_trusted(&file, &writers);
}

static bool is_believed_alone(struct stat file)
{
	return file_is_trusted(&file, NULL);
}

static void test_own_and_root_files_are_trusted(void **state)
{
	assert_true(is_believed_alone(file_of(0, 0, 0644)));
	assert_true(is_believed_alone(file_of(geteuid(), getegid(), 0600)));
	assert_true(is_believed_alone(file_of(geteuid(), getegid(), 0664)));
	assert_false(is_believed_alone(file_of(geteuid(), THEIR_GROUP, 0664)));
	assert_false(is_believed_alone(file_of(geteuid(), getegid(), 0646)));
	assert_false(is_believed_alone(file_of(0, THEIR_GROUP, 0664)));
	assert_false(is_believed_alone(file_of(SOMEBODY, 0, 0644)));
	assert_false(is_believed_alone(file_of(SOMEBODY, 0, 0444))); /* its owner can chmod(2) it */
}

static void test_the_referring_files_owner_is_trusted(void **state)
{
	struct stat his = file_of(SOMEBODY, THEIR_GROUP, 0755);

	assert_true(is_believed(file_of(SOMEBODY, 1, 0644), his));
	assert_false(is_believed(file_of(SOMEBODY_ELSE, 1, 0644), his));
	assert_false(is_believed(file_of(SOMEBODY, THEIR_GROUP, 0664), his));
	assert_false(is_believed(file_of(SOMEBODY, 1, 0646), his));
	assert_true(is_believed(file_of(0, 0, 0644), his));
}

/* With umask 002 a user's group can write both files. */
static void test_writers_of_the_referring_file_are_trusted(void **state)
{
	struct stat theirs = file_of(SOMEBODY, THEIR_GROUP, 0775);

	assert_true(is_believed(file_of(SOMEBODY, THEIR_GROUP, 0664), theirs));
	assert_false(is_believed(file_of(SOMEBODY, 1, 0664), theirs));
	assert_false(is_believed(file_of(SOMEBODY_ELSE, THEIR_GROUP, 0664), theirs));
	assert_true(is_believed(file_of(SOMEBODY_ELSE, 1, 0666), file_of(SOMEBODY, 1, 0777)));
}

static void test_refusals_are_counted_with_the_first_path(void **state)
{
	struct file_trust trust = { 0 };
	struct stat good = file_of(0, 0, 0644), bad = file_of(SOMEBODY, 0, 0644);

	assert_true(file_trust_accepts(&trust, "/a", &good, NULL));
	assert_int_equal(trust.n_refused, 0);
	assert_false(file_trust_accepts(&trust, "/b", &bad, NULL));
	assert_false(file_trust_accepts(&trust, "/c", &bad, NULL));
	assert_int_equal(trust.n_refused, 2);
	assert_string_equal(trust.first_refused, "/b");
	assert_false(file_trust_accepts(NULL, "/b", &bad, NULL));
	file_trust_deinit(&trust);
}

static void test_a_named_directory_is_trusted(void **state)
{
	const char *const dirs[] = { "/srv/debug/", "" };
	struct file_trust trust = { .vouched = dirs, .n_vouched = 2 };
	struct stat bad = file_of(SOMEBODY, 0, 0666);

	assert_true(file_trust_accepts(&trust, "/srv/debug/.build-id/ab/c.debug", &bad, NULL));
	assert_false(file_trust_accepts(&trust, "/srv/debugging/c.debug", &bad, NULL));
	assert_false(file_trust_accepts(&trust, "/srv/debug/../tmp/c.debug", &bad, NULL));
	assert_false(file_trust_accepts(&trust, "/srv/debug", &bad, NULL));
	assert_false(file_trust_accepts(&trust, "/tmp/c.debug", &bad, NULL));
	file_trust_deinit(&trust);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_and_root_files_are_trusted),
		cmocka_unit_test(test_the_referring_files_owner_is_trusted),
		cmocka_unit_test(test_writers_of_the_referring_file_are_trusted),
		cmocka_unit_test(test_refusals_are_counted_with_the_first_path),
		cmocka_unit_test(test_a_named_directory_is_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
