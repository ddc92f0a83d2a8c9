/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

static const struct cli_key keys[] = { { "dev", .bare = true }, { NULL } };

static const struct cli_col cols[] = {
	{ "DEV", "@dev" },	  { "GROUP", "group" },
	{ "MGID", "mgid" },	  { "MLID", "mlid" },
	{ "STATE", "state" },	  { "FULL", "full_member" },
	{ "SENDS", "send_only" }, { "ATTACHED", "attached" },
	{ "STATUS", "status" },	  { NULL },
};

static const struct cli_show shown = {
	.object = "maddr",
	.cmd = "maddr show",
	.keys = keys,
	.cols = cols,
	.title = (const char *const[]){ "@dev", "group", NULL },
};

static int show(int argc, char **argv)
{
	return cli_show(&shown, argc, argv);
}

const struct cli_cmd cli_maddr_verbs[] = {
	{ "show", show, "[dev IF[@HOST]]", "multicast groups that interfaces receive or send to" },
	{ NULL },
};
