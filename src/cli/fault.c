/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "util/text.h"

static const struct cli_key fabric_key[] = { { "fabric" }, { NULL } };

static const struct cli_col cols[] = {
	{ "ID", "id", true },
	{ "PORT", "port" },
	{ "FAULT", "fault" },
	{ "SEEN", "seen", true },
	{ "HIT", "hit", true },
	{ "HELD", "held", true },
	{ NULL },
};

static const struct cli_show shown = {
	.object = "fault",
	.cmd = "fault show",
	.keys = fabric_key,
	.cols = cols,
	.title = (const char *const[]){ "id", NULL },
};

static int show(int argc, char **argv)
{
	return cli_show(&shown, argc, argv);
}

static const struct cli_key add_keys[] = {
	{ "port", .bare = true, .required = true },
	{ "fault", .bare = true, .required = true },
	{ "fabric" },
	{ NULL },
};

static const struct cli_show added = {
	.object = "fault",
	.cmd = "fault add",
	.keys = add_keys,
	.cols = cols,
	.title = (const char *const[]){ "id", NULL },
};

/* In `fabric fault add Switch1/2 loss 2% [data] [fabric F]` the words of the fault become one argument. */
static int add(int argc, char **argv)
{
	char text[256] = "", *words[6] = { argv[0] };
	struct text t = TEXT_IN(text);
	int n = 1, i = 1;

	if (i < argc)
		words[n++] = argv[i++];
	for (; i < argc && strcmp(argv[i], "fabric"); i++)
		text_add_item(&t, " ", argv[i]);
	if (*text)
		words[n++] = text;
	for (; i < argc && n < 5; i++)
		words[n++] = argv[i];
	return cli_show(&added, n, words);
}

static const struct cli_key del_keys[] = {
	{ "id", .type = CLI_INT, .bare = true, .required = true },
	{ "fabric" },
	{ NULL },
};

static int del(int argc, char **argv)
{
	json_t *args;
	int status = cli_args(&args, del_keys, argc, argv);

	return status ? status : cli_call("fault del", args, NULL, NULL);
}

static int clear(int argc, char **argv)
{
	static const struct cli_key keys[] = { { "fabric", .bare = true }, { NULL } };
	json_t *args;
	int status = cli_args(&args, keys, argc, argv);

	return status ? status : cli_call("fault clear", args, NULL, NULL);
}

const struct cli_cmd cli_fault_verbs[] = {
	{ "show", show, "[fabric F]", "faults on links and what they did" },
	{ "add", add, "NODE/PORT|udp:LINK FAULT [fabric F]",
	  "loss P% | corrupt P% | damage P% | truncate P% | duplicate P% | reorder P% TIME | "
	  "delay TIME [JITTER] | cut, each with all, data or mad; or stall; on what leaves the "
	  "port, or "
	  "comes in by the link" },
	{ "del", del, "ID [fabric F]", "take a fault away" },
	{ "clear", clear, "[fabric F]", "take all faults of a fabric away" },
	{ NULL },
};
