/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmdline/cmdline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/*
 * Tests how the command line is parsed (words, options, abbreviations) and how rows of answers are
 * printed as text.
 */

#define WORDS_MAX 12

struct words {
	int argc;
	char *argv[WORDS_MAX + 1];
	char text[256];
};

/* Split @text as a shell would */
static struct words *words(const char *text)
{
	static struct words w;

	w.argc = 0;
	snprintf(w.text, sizeof(w.text), "%s", text);
	for (char *p = strtok(w.text, " "); p && w.argc < WORDS_MAX; p = strtok(NULL, " "))
		w.argv[w.argc++] = p;
	w.argv[w.argc] = NULL;
	return &w;
}

/* Reset the global options before each test case. */
static int quiet(void **state)
{
	(void)state;
	cli_opts = (struct cli_opts){ 0 };
	return 0;
}

static void joined(const struct words *w, const char *want)
{
	char buf[256] = "";

	for (int i = 0; i < w->argc; i++)
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), "%s%s", i ? " " : "",
			 w->argv[i]);
	assert_string_equal(buf, want);
	assert_null(w->argv[w->argc]);
}

/* --- options */

static void test_options_stand_anywhere_and_combine(void **state)
{
	struct words *w = words("link show -jd dev uib0 -n lab");

	(void)state;
	assert_int_equal(cli_options(&w->argc, w->argv, false), 0);
	joined(w, "link show dev uib0");
	assert_true(cli_opts.json && cli_opts.details && !cli_opts.help);
	assert_string_equal(cli_opts.instance, "lab");
}

static void test_options_have_long_and_joined_forms(void **state)
{
	struct words *w = words("uipoib --json --details --name=a link");

	(void)state;
	assert_int_equal(cli_options(&w->argc, w->argv, true), 0);
	joined(w, "uipoib link");
	assert_true(cli_opts.json && cli_opts.details);
	assert_string_equal(cli_opts.instance, "a");
	w = words("uipoib -jnb --help link --name c");
	assert_int_equal(cli_options(&w->argc, w->argv, true), 0);
	/*
	 * cli_options() must not parse options after the object ("link"), but leave them to the
	 * code of the object
	 */
	joined(w, "uipoib link --name c");
	assert_string_equal(cli_opts.instance, "b");
	assert_true(cli_opts.help);
}

static void test_options_of_a_command_are_left_to_it(void **state)
{
	struct words *w = words("wait --timeout 5 -j");

	(void)state;
	assert_int_equal(cli_options(&w->argc, w->argv, false), 0);
	joined(w, "wait --timeout 5");
	assert_true(cli_opts.json);
	w = words("capture start -");
	assert_int_equal(cli_options(&w->argc, w->argv, false), 0);
	joined(w, "capture start -");
	w = words("x -- -j");
	cli_opts.json = false;
	assert_int_equal(cli_options(&w->argc, w->argv, false), 0);
	joined(w, "x -- -j");
	assert_false(cli_opts.json);
}

static void test_options_that_are_wrong(void **state)
{
	static const char *const bad[] = { "uipoib -x", "uipoib --jsonx", "uipoib -n",
					   "uipoib --name", "uipoib -jx" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct words *w = words(bad[i]);

		assert_int_equal(cli_options(&w->argc, w->argv, true), PROTO_EXIT_USAGE);
	}
}

/* --- abbreviations */

static int ran;

static int run_show(int argc, char **argv)
{
	(void)argv;
	ran = argc;
	return 40;
}

static int run_stop(int argc, char **argv)
{
	(void)argv;
	ran = -argc;
	return 41;
}

static const struct cli_cmd table[] = {
	{ "show", run_show, "", "" },
	{ "stop", run_stop, "", "" },
	{ "stopall", run_stop, "", "" },
	{ NULL },
};

static int run_import(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cli_opts.help ? 43 : 42;
}

static const struct cli_cmd nested[] = {
	{ "node", NULL, "", "", .verbs = table },
	{ "import", run_import, "", "", .own_help = true },
	{ NULL },
};
static const struct cli_cmd object = { "fabric", NULL, "", "", .verbs = nested };

static void test_words_may_be_cut_while_they_are_unique(void **state)
{
	(void)state;
	assert_ptr_equal(cli_find(table, "verb", "show"), &table[0]);
	assert_ptr_equal(cli_find(table, "verb", "sh"), &table[0]);
	/* "stop" is an entry of the table and a prefix of "stopa"; the exact match must be found */
	assert_ptr_equal(cli_find(table, "verb", "stop"), &table[1]);
	assert_ptr_equal(cli_find(table, "verb", "stopa"), &table[2]);
	assert_null(cli_find(table, "verb", "s"));
	assert_null(cli_find(table, "verb", "sto"));
	assert_null(cli_find(table, "verb", ""));
	assert_null(cli_find(table, "verb", "shows"));
}

/* Run the command that the words of @text name; its first word is the object, such as "fabric" */
static int dispatch(const struct cli_cmd *c, const char *text)
{
	struct words *w = words(text);

	ran = 0;
	return cli_dispatch(c->name, c, w->argc, w->argv);
}

static void test_verb_is_show_where_none_is_given(void **state)
{
	const struct cli_cmd link = { "link", NULL, "", "", .verbs = table };

	(void)state;
	assert_int_equal(dispatch(&link, "link"), 40);
	assert_int_equal(ran, 1);
	assert_int_equal(dispatch(&link, "link stop a b"), 41);
	assert_int_equal(ran, -3);
	assert_int_equal(dispatch(&link, "link nonsense"), PROTO_EXIT_USAGE);
}

static void test_verbs_have_verbs(void **state)
{
	(void)state;
	assert_int_equal(dispatch(&object, "fabric node"), 40);
	assert_int_equal(dispatch(&object, "fabric no stop a"), 41);
	assert_int_equal(ran, -2);
	assert_int_equal(dispatch(&object, "fabric node nonsense"), PROTO_EXIT_USAGE);
	/* there is no verb `show` */
	assert_int_equal(dispatch(&object, "fabric"), PROTO_EXIT_USAGE);
	assert_int_equal(dispatch(&object, "fabric import"), 42);
}

static void test_help_runs_no_verb_but_one_that_prints_its_own(void **state)
{
	(void)state;
	assert_int_equal(dispatch(&object, "fabric node help"), PROTO_EXIT_OK);
	cli_opts.help = true;
	assert_int_equal(dispatch(&object, "fabric"), PROTO_EXIT_OK);
	assert_int_equal(dispatch(&object, "fabric node"), PROTO_EXIT_OK);
	assert_int_equal(dispatch(&object, "fabric node stop"), PROTO_EXIT_OK);
	assert_int_equal(dispatch(&object, "fabric nonsense"), PROTO_EXIT_USAGE);
	assert_int_equal(ran, 0);
	assert_int_equal(dispatch(&object, "fabric import"), 43);
}

/* --- keys and values */

static const struct cli_key keys[] = {
	{ "port", .bare = true, .required = true },
	{ "id", .type = CLI_INT },
	{ "dev", .arg = "ifname" },
	{ "state", .bare = true },
	{ "force", .type = CLI_FLAG },
	{ NULL },
};

static void parses(const char *text, const char *want)
{
	struct words *w = words(text);
	json_t *args;
	char *got;

	assert_int_equal(cli_args(&args, keys, w->argc, w->argv), 0);
	got = json_dumps(args, JSON_COMPACT);
	assert_string_equal(got, want);
	free(got);
	json_decref(args);
}

static void test_args_by_key_or_by_place(void **state)
{
	(void)state;
	parses("v a", "{\"port\":\"a\"}");
	parses("v port a", "{\"port\":\"a\"}");
	parses("v a up", "{\"port\":\"a\",\"state\":\"up\"}");
	parses("v state up a", "{\"state\":\"up\",\"port\":\"a\"}");
	parses("v a dev uib0 id 0x10 force",
	       "{\"port\":\"a\",\"ifname\":\"uib0\",\"id\":16,\"force\":true}");
	/*
	 * the second "port" must be read as the value of the key "port", because a node can have
	 * the name "port"
	 */
	parses("v port port", "{\"port\":\"port\"}");
	parses("v port", "{\"port\":\"port\"}");
}

static void test_args_that_are_wrong(void **state)
{
	static const char *const bad[] = {
		"v",
		"v a b c",
		"v a id",
		"v a id x",
		"v a id 1x",
		"v a dev",
		"v a id ''",
		"v a force 7 8",
		"v a dev b dev c",
		"v a force force",
		"v state up",
		"v a id 99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct words *w = words(bad[i]);
		json_t *args;

		if (cli_args(&args, keys, w->argc, w->argv) != PROTO_EXIT_USAGE)
			fail_msg("'%s' is taken", bad[i]);
	}
}

static void test_seconds(void **state)
{
	static const char *const bad[] = { "", "x", "1x", "-1", "nan", "inf", "1e9" };
	long long ms;

	(void)state;
	assert_int_equal(cli_seconds(&ms, "0"), 0);
	assert_int_equal(ms, 0);
	assert_int_equal(cli_seconds(&ms, "1.5"), 0);
	assert_int_equal(ms, 1500);
	assert_int_equal(cli_seconds(&ms, "30"), 0);
	assert_int_equal(ms, 30000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(cli_seconds(&ms, bad[i]), -EINVAL);
	assert_int_equal(ms, 30000); /* unchanged, because all calls failed */
}

/* --- text */

static void text_is(const char *json, const char *key, const char *want)
{
	json_t *row = json_loads(json, 0, NULL);
	char *got;

	assert_non_null(row);
	got = cli_text(row, key);
	assert_string_equal(got, want);
	free(got);
	json_decref(row);
}

static void test_text_of_values(void **state)
{
	(void)state;
	text_is("{\"a\":7}", "a", "7");
	text_is("{\"a\":-7}", "a", "-7");
	text_is("{\"a\":\"x y\"}", "a", "x y");
	text_is("{\"a\":\"\"}", "a", "-");
	text_is("{\"a\":null}", "a", "-");
	text_is("{}", "a", "-");
	text_is("{\"a\":true,\"b\":false}", "a", "yes");
	text_is("{\"a\":true,\"b\":false}", "b", "no");
	text_is("{\"a\":[1,\"x\"]}", "a", "1 x");
	text_is("{\"a\":[]}", "a", "-");
	text_is("{\"a\":{\"b\":{\"c\":3}}}", "a.b.c", "3");
	text_is("{\"a\":null}", "a.b", "-");
	text_is("{\"a\":{\"b\":1,\"c\":[2,3]}}", "a", "b 1, c 2 3");
	text_is("{\"a\":{}}", "a", "-");
	text_is("{\"ifname\":\"uib0\",\"host\":\"h1\"}", "@dev", "uib0@h1");
	text_is("{\"ifname\":\"uib0\",\"host\":\"\"}", "@dev", "uib0");
}

/* Return the text that cli_print_rows() prints for @json */
static char *printed(const struct cli_show *s, const char *json)
{
	static char buf[4096];
	json_t *rows = json_loads(json, 0, NULL);
	int out = dup(STDOUT_FILENO), p[2];
	ssize_t n;

	assert_non_null(rows);
	assert_int_equal(pipe(p), 0);
	fflush(stdout);
	dup2(p[1], STDOUT_FILENO);
	cli_print_rows(s, rows);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	close(p[1]);
	n = read(p[0], buf, sizeof(buf) - 1);
	close(p[0]);
	buf[n > 0 ? n : 0] = '\0';
	json_decref(rows);
	return buf;
}

static const struct cli_show shown = {
	.object = "thing",
	.cols =
		(const struct cli_col[]){
			{ "NAME", "name" }, { "N", "n", true }, { "LAST", "x" }, { NULL } },
	.title = (const char *const[]){ "name", NULL },
	.none = "nothing",
};

#define ROWS "[{\"name\":\"longer\",\"n\":5,\"x\":\"a\"},{\"name\":\"b\",\"n\":123,\"x\":null}]"

static void test_rows_as_table_blocks_and_json(void **state)
{
	(void)state;
	assert_string_equal(printed(&shown, ROWS), "NAME      N  LAST\n"
						   "longer    5  a\n"
						   "b       123  -\n");
	assert_string_equal(printed(&shown, "[]"), "nothing\n");
	cli_opts.details = true;
	assert_string_equal(printed(&shown, "[{\"name\":\"b\",\"o\":{\"k\":1},\"l\":[{\"m\":2}]}]"),
			    "b\n"
			    "    name b\n"
			    "    o\n"
			    "        k 1\n"
			    "    l\n"
			    "      -\n"
			    "        m 2\n");
	cli_opts.json = true; /* -j has precedence over -d */
	assert_string_equal(printed(&shown, "[{\"n\":5}]"),
			    "{\"schema\":1,\"thing\":[{\"n\":5}]}\n");
	assert_string_equal(printed(&shown, "[]"), "{\"schema\":1,\"thing\":[]}\n");
}

/* --- instances */

static void test_instance_is_named_by_option_then_environment(void **state)
{
	char name[PROTO_NAME_MAX];

	(void)state;
	setenv("UIPOIB_NAME", "env", 1);
	assert_int_equal(cli_instance(name), 0);
	assert_string_equal(name, "env");
	cli_opts.instance = "opt";
	assert_int_equal(cli_instance(name), 0);
	assert_string_equal(name, "opt");
	cli_opts.instance = "../opt";
	assert_int_equal(cli_instance(name), PROTO_EXIT_USAGE);
	cli_opts.instance = NULL;
	setenv("UIPOIB_NAME", "a b", 1);
	assert_int_equal(cli_instance(name), PROTO_EXIT_USAGE);
	unsetenv("UIPOIB_NAME");
}

static void test_instance_that_does_not_run(void **state)
{
	struct proto_client c;

	(void)state;
	cli_opts.instance = "unit-test-none";
	assert_int_equal(cli_connect(&c), PROTO_EXIT_USAGE);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, quiet)
	const struct CMUnitTest tests[] = {
		CASE(test_options_stand_anywhere_and_combine),
		CASE(test_options_have_long_and_joined_forms),
		CASE(test_options_of_a_command_are_left_to_it),
		CASE(test_options_that_are_wrong),
		CASE(test_words_may_be_cut_while_they_are_unique),
		CASE(test_verb_is_show_where_none_is_given),
		CASE(test_verbs_have_verbs),
		CASE(test_help_runs_no_verb_but_one_that_prints_its_own),
		CASE(test_args_by_key_or_by_place),
		CASE(test_args_that_are_wrong),
		CASE(test_seconds),
		CASE(test_text_of_values),
		CASE(test_rows_as_table_blocks_and_json),
		CASE(test_instance_is_named_by_option_then_environment),
		CASE(test_instance_that_does_not_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
