/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

static const struct cli_key keys[] = { { "dev", .bare = true },
				       { "details", .type = CLI_FLAG },
				       { NULL } };

static const struct cli_col cols[] = {
	{ "OBJECT", "object" },
	{ "LAYER", "layer" },
	{ "COUNTER", "counter" },
	{ "VALUE", "value", true },
	{ NULL },
};

static const struct cli_show shown = {
	.object = "stats",
	.cmd = "stats show",
	.keys = keys,
	.cols = cols,
	.none = "all counters are 0",
};

/*
 * For this command, -d asks the instance for counters that are 0, too. For other commands, -d means
 * blocks instead of a table. This command always prints a table, so it clears the option.
 */
static int show(int argc, char **argv)
{
	char *words[16], details[] = "details";
	int n = 0;

	for (; n < argc && n < 14; n++)
		words[n] = argv[n];
	if (n < argc)
		return cli_error(PROTO_EXIT_USAGE, "stats: too many words");
	if (cli_opts.details)
		words[n++] = details;
	words[n] = NULL;
	cli_opts.details = false;
	return cli_show(&shown, n, words);
}

const struct cli_cmd cli_stats_verbs[] = {
	{ "show", show, "[dev IF[@HOST]]", "counters that are not 0; with -d all" },
	{ NULL },
};
