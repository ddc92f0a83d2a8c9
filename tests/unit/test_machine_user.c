/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/user.h"
#include "proto/proto.h"

/* Tests the look-up of users in the files of a root file system. The tests make these files. */

static char root[] = "/tmp/test_machine_user.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/etc/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_root(void **state)
{
	char etc[64];

	assert_non_null(mkdtemp(root));
	snprintf(etc, sizeof(etc), "%s/etc", root);
	assert_int_equal(mkdir(etc, 0755), 0);
	put("passwd", "root:x:0:0:root:/root:/bin/sh\nci:x:4321:100:CI:/home/ci:/bin/sh\n");
	put("group", "root:x:0:\nusers:x:100:ci\nrdma:x:110:other,ci\nother:x:111:other\n");
	return 0;
}

static int remove_root(void **state)
{
	static const char *const names[] = { "etc/passwd", "etc/group", "etc", "" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		assert_int_equal(remove(path), 0);
	}
	return 0;
}

static void test_a_name_has_its_groups(void **state)
{
	struct user u;

	assert_int_equal(user_find(&u, "ci", root), 0);
	assert_string_equal(u.ids, "4321,100,110");
	assert_string_equal(u.name, "ci");
	assert_string_equal(u.home, "/home/ci");
}

static void test_a_number_is_the_same_user(void **state)
{
	struct user u;

	assert_int_equal(user_find(&u, "4321", root), 0);
	assert_string_equal(u.ids, "4321,100,110");
	assert_int_equal(user_find(&u, "4321:7", root), 0);
	assert_string_equal(u.ids, "4321,7,100,110");
	assert_string_equal(u.name, "ci");
}

static void test_a_number_need_not_be_in_the_file(void **state)
{
	struct user u;

	assert_int_equal(user_find(&u, "5000", root), 0);
	assert_string_equal(u.ids, "5000,5000");
	assert_int_equal(user_find(&u, "5000:6000", "/nonexistent"), 0);
	assert_string_equal(u.ids, "5000,6000");
	assert_string_equal(u.name, "");
	assert_string_equal(u.home, "/");
}

static void test_what_is_no_user_is_refused(void **state)
{
	static const char *const bad[] = { "nobody-here", "", "-1", "4294967295", "1:x", "ci:100" };
	struct user u;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(user_find(&u, bad[i], root), PROTO_EXIT_USAGE);
}

static void test_the_environment_is_that_of_the_user(void **state)
{
	static char home[] = "HOME=/root", user[] = "USER=root", path[] = "PATH=/bin";
	char *env[] = { home, path, user, NULL }, **v;
	struct user u;

	assert_int_equal(user_find(&u, "ci", root), 0);
	v = user_environ(&u, env);
	assert_non_null(v);
	assert_string_equal(v[0], "HOME=/home/ci");
	assert_string_equal(v[1], "USER=ci");
	assert_string_equal(v[2], "LOGNAME=ci");
	assert_string_equal(v[3], "PATH=/bin");
	assert_null(v[4]);
	free(v);
	assert_int_equal(user_find(&u, "5000", root), 0);
	v = user_environ(&u, env);
	assert_non_null(v);
	assert_string_equal(v[0], "HOME=/");
	assert_string_equal(v[1], "PATH=/bin");
	assert_null(v[2]);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_name_has_its_groups),
		cmocka_unit_test(test_a_number_is_the_same_user),
		cmocka_unit_test(test_a_number_need_not_be_in_the_file),
		cmocka_unit_test(test_what_is_no_user_is_refused),
		cmocka_unit_test(test_the_environment_is_that_of_the_user),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
