/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/import_priv.h"

#include <errno.h>
#include <string.h>

#include "check.h"

/*
 * Tests `fabric import` with short texts. tests/interop/import.sh tests `fabric import` with the
 * output of ibnetdiscover.
 */

/* Import @text without writing a file. Returns the status; @err gets the error message */
static int import(const char *text, char err[IMPORT_ERR_MAX])
{
	struct import_opts o = { .file = "f" };
	struct import im;
	int status;

	err[0] = '\0';
	import_init(&im, &o, err);
	status = import_make(&im, text, strlen(text));
	import_free(&im);
	return status;
}

static void test_import_of_comments_alone_has_no_node(void **state)
{
	static const char *const texts[] = { "",	"\n", "#", "# a comment", "# one\n# two",
					     "\r\n#\n#" };
	char err[IMPORT_ERR_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(import(texts[i], err), -EINVAL);
		assert_string_equal(err, "f: no node in it");
	}
}

static void test_import_names_the_formats_that_say_no_cables(void **state)
{
	char err[IMPORT_ERR_MAX];

	(void)state;
	assert_int_equal(import("# ports\nSW 1 2\n", err), -EINVAL);
	assert_non_null(strstr(err, "a report"));
	assert_int_equal(import("\n> Switch\n", err), -EINVAL);
	assert_non_null(strstr(err, "a difference"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_import_of_comments_alone_has_no_node),
		cmocka_unit_test(test_import_names_the_formats_that_say_no_cables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
