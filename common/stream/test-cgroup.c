/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/stream/cgroup.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void expect(const char *path, const char *container, const char *unit)
{
	char found[CGROUP_LABEL_MAX];

	cgroup_container(path, found);
	assert_string_equal(found, container);
	cgroup_unit(path, found);
	assert_string_equal(found, unit);
}

static void test_groups_of_known_managers_have_labels(void **state)
{
	expect("/system.slice/cron.service", "", "cron.service");
	expect("/system.slice/docker-" ID ".scope", ID, "docker-" ID ".scope");
	expect("/docker/" ID, ID, "");
	expect("/docker/" ID "/init.scope", ID, "init.scope");
	expect("/machine.slice/libpod-" ID ".scope/container", ID, "libpod-" ID ".scope");
	expect("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
	       "cri-containerd-" ID ".scope",
	       ID, "cri-containerd-" ID ".scope");
	expect("/kubepods/besteffort/pod0a0b/" ID, ID, "");
	expect("/lxc.payload.web.one", "web.one", "");
	expect("/machine.slice/systemd-nspawn@web.service", "web", "systemd-nspawn@web.service");
	expect("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", "",
	       "app-x.scope");
	expect("/user.slice/user-1000.slice", "", "user-1000.slice");
	expect("/process_api/0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef",
	       "");
}

static void test_near_ids_are_not_shortened(void **state)
{
	expect("/" ID "0", "", "");
	expect("/x" ID, "", "");
	expect("/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF", "", "");
	expect("/0123456789abcdef0123456789abcdef-x", "", "");
	expect("", "", "");
	expect("/", "", "");
	expect("////", "", "");
	expect("/.service", "", "");
}

static void expect_parsed(const char *text, const char *path)
{
	char copy[4 * CGROUP_PATH_MAX], found[CGROUP_PATH_MAX];

	strcpy(copy, text);
	cgroup_parse(copy, found);
	assert_string_equal(found, path);
}

static void test_the_most_specific_path_is_used(void **state)
{
	/* A host with both cgroup versions, with deeper groups for resource limits only. */
	expect_parsed("4:memory:/resources/of/somebody/very/deep\n0::/system.slice/cron.service\n",
		      "/system.slice/cron.service");
	expect_parsed("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope\n"
		      "3:pids:/docker/" ID "\n",
		      "/docker/" ID);
	expect_parsed("0::/\n", "");
	expect_parsed("0::/a/b\n", "/a/b");
	expect_parsed("4:memory:/docker/x\n1:cpu:/\n0::/\n", "/docker/x");
	expect_parsed("1:name=systemd:/a\n0::/b:c/d\n", "/b:c/d");
	expect_parsed("", "");
	expect_parsed("garbage\n::\n:\n0:\n\n7:x:relative\n", "");
}

static void test_a_long_path_is_truncated(void **state)
{
	char text[2 * CGROUP_PATH_MAX] = "0::/", found[CGROUP_PATH_MAX];

	memset(text + 4, 'x', sizeof(text) - 5);
	cgroup_parse(text, found);
	assert_int_equal(strlen(found), CGROUP_PATH_MAX - 1);
}

static void test_our_own_can_be_read(void **state)
{
	char path[CGROUP_PATH_MAX];

	assert_int_equal(cgroup_read(getpid(), path), 0);
	assert_true(cgroup_read(5000000, path) < 0);
}

static void test_a_group_is_freed_with_its_last_user(void **state)
{
	struct cgroup *cgroup = cgroup_new("/a");

	assert_ptr_equal(cgroup_share(cgroup), cgroup);
	cgroup_drop(cgroup);
	assert_string_equal(cgroup->path, "/a");
	cgroup_drop(cgroup);
	cgroup_drop(cgroup_share(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_of_known_managers_have_labels),
		cmocka_unit_test(test_near_ids_are_not_shortened),
		cmocka_unit_test(test_the_most_specific_path_is_used),
		cmocka_unit_test(test_a_long_path_is_truncated),
		cmocka_unit_test(test_our_own_can_be_read),
		cmocka_unit_test(test_a_group_is_freed_with_its_last_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
