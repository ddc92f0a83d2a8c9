/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmdline/complete.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

/*
 * Tests the candidates that a shell offers for the last word of a command line. Names of objects
 * are not offered here, because they come from an instance and no instance is running.
 */

static int nothing(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fail_msg("completion carried out a command");
	return 0;
}

static const struct option run_options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "verbose", no_argument, NULL, 'v' },
	{ NULL },
};

static const struct cli_cmd link_verbs[] = {
	{ "show", nothing, "[dev IF[@HOST]] [state up|down]", "" },
	{ "set", nothing, "NODE/PORT|all up|down [count N] [fabric F]", "" },
	{ NULL },
};

static const struct cli_cmd table[] = {
	{ "run", nothing, "-c FILE [-- CMD]", "", .own_options = true, .options = run_options },
	{ "link", NULL, "", "", .verbs = link_verbs },
	{ "load", nothing, "FILE [fabric F]", "" },
	{ "stop", nothing, "", "" },
	{ "stopall", nothing, "", "" },
	{ NULL },
};

static void join(void *ctx, const char *candidate)
{
	char *all = ctx;

	snprintf(all + strlen(all), 512 - strlen(all), "%s%s", *all ? " " : "", candidate);
}

/*
 * Check that completion of @line offers the words @want. @line is split at blanks; the part after
 * the last blank is the word to complete.
 */
static void offers(const char *line, const char *want)
{
	char text[256], all[512] = "", *words[16];
	int n = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *p = text; p;) {
		char *blank = strchr(p, ' ');

		words[n++] = p;
		if (blank)
			*blank++ = '\0';
		p = blank;
	}
	complete(table, n, words, join, all);
	assert_string_equal(all, want);
}

static void test_names_of_objects_and_verbs(void **state)
{
	(void)state;
	offers("", "run link load stop stopall");
	offers("l", "link load");
	offers("stop", "stop stopall");
	offers("link ", "show set");
	offers("link se", "set");
	offers("li s", "show set");
	offers("x", "");
}

static void test_nothing_behind_a_name_that_does_not_exist_or_is_not_unique(void **state)
{
	(void)state;
	offers("x ", "");
	offers("l ", "");
	offers("link x y", "");
	offers("stop ", "");
}

static void test_keys_and_their_values(void **state)
{
	(void)state;
	offers("link show ", "dev state");
	offers("link show st", "state");
	offers("link show state ", "up down");
	offers("link show dev ", "");
	offers("link set Hca1/1 up ", "count fabric");
	offers("link set Hca1/1 up count ", "");
	offers("link set Hca1/1 up count 3 f", "fabric");
}

static void test_words_at_fixed_places(void **state)
{
	(void)state;
	offers("link set ", "all");
	offers("link set Hca1/1 ", "up down");
	offers("link set Hca1/1 d", "down");
}

static void test_the_shell_completes_files_and_commands(void **state)
{
	(void)state;
	offers("load ", ":files");
	offers("load a ", "fabric");
	offers("run -c ", ":files");
	offers("run -c a -- ", ":files");
}

static void test_options(void **state)
{
	(void)state;
	offers("-", "--json --details --name --help");
	offers("link --n", "--name");
	offers("run -", "--config --verbose");
	offers("run --config a --v", "--verbose");
	/* "run" is the value of the option -n, and must not be taken as the name of an object */
	offers("-n run link ", "show set");
	offers("-j link ", "show set");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_objects_and_verbs),
		cmocka_unit_test(test_nothing_behind_a_name_that_does_not_exist_or_is_not_unique),
		cmocka_unit_test(test_keys_and_their_values),
		cmocka_unit_test(test_words_at_fixed_places),
		cmocka_unit_test(test_the_shell_completes_files_and_commands),
		cmocka_unit_test(test_options),
	};

	setenv("UIPOIB_NAME", "unit-test-none", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
