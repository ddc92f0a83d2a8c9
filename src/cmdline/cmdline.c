/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmdline/cmdline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/escape.h"

struct cli_opts cli_opts;

int cli_error(int status, const char *fmt, ...)
{
	va_list ap;
	char *s;

	fflush(stdout);
	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) >= 0) {
		fputs("uipoib: ", stderr);
		text_print_escaped(stderr, s);
		fputc('\n', stderr);
		free(s);
	}
	va_end(ap);
	return status;
}

/* --- options */

static int long_option(const char *word, int *argc, char **argv, int at)
{
	if (!strcmp(word, "--json"))
		cli_opts.json = true;
	else if (!strcmp(word, "--details"))
		cli_opts.details = true;
	else if (!strcmp(word, "--help"))
		cli_opts.help = true;
	else if (!strncmp(word, "--name=", 7))
		cli_opts.instance = word + 7;
	else if (!strcmp(word, "--name") && at + 1 < *argc)
		cli_opts.instance = argv[at + 1];
	else
		return -1;
	return strcmp(word, "--name") ? 1 : 2;
}

/*
 * Parse a word of short options: "-jd" is "-j -d", and "-nlab" is "-n lab". Return: number of words
 * used; -1: not an option of this program
 */
static int short_options(const char *word, int *argc, char **argv, int at)
{
	for (const char *p = word + 1; *p; p++) {
		switch (*p) {
		case 'j':
			cli_opts.json = true;
			break;
		case 'd':
			cli_opts.details = true;
			break;
		case 'h':
			cli_opts.help = true;
			break;
		case 'n':
			if (!p[1] && at + 1 >= *argc)
				return -1;
			cli_opts.instance = p[1] ? p + 1 : argv[at + 1];
			return p[1] ? 1 : 2;
		default:
			return -1;
		}
	}
	return 1;
}

int cli_options(int *argc, char **argv, bool first_only)
{
	int out = 1, at = 1;

	while (at < *argc) {
		const char *w = argv[at];
		int used;

		if (!strcmp(w, "--") || (first_only && w[0] != '-'))
			break;
		if (w[0] != '-' || !w[1]) {
			argv[out++] = argv[at++];
			continue;
		}
		used = w[1] == '-' ? long_option(w, argc, argv, at)
				   : short_options(w, argc, argv, at);
		if (used < 0 && !first_only && strcmp(w, "-n") && strcmp(w, "--name")) {
			/* the command accepts or refuses this option itself */
			argv[out++] = argv[at++];
			continue;
		}
		if (used < 0)
			return cli_error(PROTO_EXIT_USAGE, "option '%s': %s", w,
					 !strcmp(w, "-n") || !strcmp(w, "--name")
						 ? "expected the name of an instance"
						 : "unknown, expected -j, -d, -n NAME or -h");
		at += used;
	}
	while (at < *argc)
		argv[out++] = argv[at++];
	*argc = out;
	argv[out] = NULL;
	return 0;
}

/* --- words */

static void list_names(const struct cli_cmd *table, const char *prefix, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };

	buf[0] = '\0';
	for (const struct cli_cmd *c = table; c->name; c++)
		if (!strncmp(c->name, prefix, strlen(prefix)))
			text_add_item(&t, ", ", c->name);
}

const struct cli_cmd *cli_find(const struct cli_cmd *table, const char *what, const char *word)
{
	const struct cli_cmd *found = NULL;
	unsigned int n = 0;
	char list[512];

	for (const struct cli_cmd *c = table; c->name; c++) {
		if (!strcmp(c->name, word))
			return c;
		if (*word && !strncmp(c->name, word, strlen(word))) {
			found = c;
			n++;
		}
	}
	if (n == 1)
		return found;
	list_names(table, n ? word : "", list, sizeof(list));
	cli_error(PROTO_EXIT_USAGE, "%s '%s': %s, expected one of %s", what, word,
		  n ? "not unique" : "unknown", list);
	return NULL;
}

static void usage_of(const char *path, const struct cli_cmd *v)
{
	printf("uipoib %s %s%s%s\n        %s\n", path, v->name, *v->usage ? " " : "", v->usage,
	       v->help);
}

/* Tell whether the user asks for help: by `help` in place of a verb, or by -h. */
static bool asks_for_help(int argc, char **argv)
{
	return argc > 1 ? !strcmp(argv[1], "help") : cli_opts.help;
}

static int dispatch_verb(const char *path, const struct cli_cmd *verbs, int argc, char **argv)
{
	const struct cli_cmd *v;
	char sub[CLI_PATH_MAX];

	if (asks_for_help(argc, argv)) {
		for (v = verbs; v->name; v++)
			usage_of(path, v);
		return PROTO_EXIT_OK;
	}
	v = cli_find(verbs, path, argc > 1 ? argv[1] : "show");
	if (!v)
		return PROTO_EXIT_USAGE;
	if (cli_opts.help && !v->verbs && !v->own_help) {
		usage_of(path, v);
		return PROTO_EXIT_OK;
	}
	snprintf(sub, sizeof(sub), "%s %s", path, v->name);
	return argc > 1 ? cli_dispatch(sub, v, argc - 1, argv + 1) : cli_dispatch(sub, v, 1, argv);
}

int cli_dispatch(const char *path, const struct cli_cmd *c, int argc, char **argv)
{
	return c->verbs ? dispatch_verb(path, c->verbs, argc, argv) : c->run(argc, argv);
}
