/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline/cmdline.h"
#include "util/text.h"

int cli_count(unsigned int *ret, const char *option, const char *text, unsigned long min,
	      unsigned long max)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || !strchr("0123456789", *text) || *end || n < min || n > max)
		return cli_error(PROTO_EXIT_USAGE, "%s '%s': expected %lu to %lu", option, text,
				 min, max);
	*ret = (unsigned int)n;
	return 0;
}

int cli_u64(uint64_t *ret, const char *option, const char *text)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	if (errno || !*text || *text == '-' || *end)
		return cli_error(PROTO_EXIT_USAGE, "%s '%s': expected a number of 64 bits", option,
				 text);
	return 0;
}

static const char *arg_name(const struct cli_key *k)
{
	return k->arg ? k->arg : k->name;
}

static int usage_error(const struct cli_key *keys, const char *word)
{
	char list[256] = "";
	struct text t = TEXT_IN(list);

	for (const struct cli_key *k = keys; k && k->name; k++) {
		text_add_item(&t, ", ", k->name);
		text_add(&t, "%s", k->type == CLI_FLAG ? "" : " VALUE");
	}
	return cli_error(PROTO_EXIT_USAGE, "'%s': unexpected%s%s", word,
			 *list ? ", expected " : ", expected nothing more", list);
}

static const struct cli_key *find_key(const struct cli_key *keys, const char *word)
{
	for (const struct cli_key *k = keys; k && k->name; k++)
		if (!strcmp(k->name, word))
			return k;
	return NULL;
}

static const struct cli_key *next_bare(const struct cli_key *keys, const json_t *args)
{
	for (const struct cli_key *k = keys; k && k->name; k++)
		if (k->bare && !json_object_get(args, arg_name(k)))
			return k;
	return NULL;
}

static int set_value(json_t *args, const struct cli_key *k, const char *value)
{
	json_t *v;
	char *end;

	if (json_object_get(args, arg_name(k)))
		return cli_error(PROTO_EXIT_USAGE, "'%s': given twice", k->name);
	if (k->type == CLI_INT) {
		errno = 0;
		v = json_integer(strtoll(value, &end, 0));
		if (errno || !*value || *end) {
			json_decref(v);
			return cli_error(PROTO_EXIT_USAGE, "%s '%s': expected a number", k->name,
					 value);
		}
	} else {
		v = k->type == CLI_FLAG ? json_true() : json_string(value);
		if (!v)
			return cli_error(PROTO_EXIT_USAGE, "%s: not UTF-8", k->name);
	}
	json_object_set_new(args, arg_name(k), v);
	return 0;
}

/*
 * Add an argument to @args from one word, or from a key and its value. *used is set to the number
 * of words that the argument consists of.
 */
static int take(json_t *args, const struct cli_key *keys, int left, char **argv, int *used)
{
	const struct cli_key *k = find_key(keys, argv[0]);

	*used = 1;
	if (k && k->type == CLI_FLAG)
		return set_value(args, k, "");
	if (k && left > 1) {
		*used = 2;
		return set_value(args, k, argv[1]);
	}
	if (k && !k->bare)
		return cli_error(PROTO_EXIT_USAGE, "'%s': expected a value", k->name);
	k = next_bare(keys, args);
	return k ? set_value(args, k, argv[0]) : usage_error(keys, argv[0]);
}

int cli_args(json_t **ret, const struct cli_key *keys, int argc, char **argv)
{
	json_t *args = json_object();
	int status = 0;

	for (int i = 1, used; !status && i < argc; i += used)
		status = take(args, keys, argc - i, argv + i, &used);
	for (const struct cli_key *k = keys; !status && k && k->name; k++)
		if (k->required && !json_object_get(args, arg_name(k)))
			status = cli_error(PROTO_EXIT_USAGE, "%s: missing", k->name);
	if (status) {
		json_decref(args);
		return status;
	}
	*ret = args;
	return 0;
}

const char *cli_value(const char *name, char **argv, int *at)
{
	size_t n = strlen(name);

	if (strncmp(argv[*at], name, n) != 0)
		return NULL;
	if (argv[*at][n] == '=')
		return argv[*at] + n + 1;
	return argv[*at][n] || !argv[*at + 1] ? NULL : argv[++*at];
}

int cli_seconds(long long *ret_ms, const char *s)
{
	char *end;
	double v = strtod(s, &end);

	if (!*s || *end || !isfinite(v) || v < 0 || v > 86400)
		return -EINVAL;
	*ret_ms = (long long)(v * 1000);
	return 0;
}
