/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

static const struct cli_key show_keys[] = { { "dev", .bare = true }, { NULL } };

static const struct cli_col show_cols[] = {
	{ "PORT", "port" },	  { "DGID", "dgid" },
	{ "PKEY", "pkey" },	  { "STATE", "state" },
	{ "DLID", "dlid", true }, { "SL", "sl", true },
	{ "MTU", "mtu", true },	  { "MBPS", "rate_mbps", true },
	{ "STATUS", "status" },	  { NULL },
};

static const struct cli_show show_shown = {
	.object = "path",
	.cmd = "path show",
	.keys = show_keys,
	.cols = show_cols,
	.title = (const char *const[]){ "port", "dgid", NULL },
};

static int show(int argc, char **argv)
{
	return cli_show(&show_shown, argc, argv);
}

static const struct cli_key get_keys[] = {
	{ "address", .bare = true, .required = true },
	{ "dev" },
	{ NULL },
};

static const struct cli_col get_cols[] = {
	{ "DEV", "@dev" },
	{ "DGID", "dgid" },
	{ "DLID", "dlid", true },
	{ "SLID", "slid", true },
	{ "PKEY", "pkey" },
	{ "SL", "sl", true },
	{ "MTU", "mtu", true },
	{ "MBPS", "rate_mbps", true },
	{ "LIFE", "packet_life", true },
	{ NULL },
};

static const struct cli_show get_shown = {
	.object = "path",
	.cmd = "path get",
	.keys = get_keys,
	.cols = get_cols,
	.title = (const char *const[]){ "@dev", "dgid", NULL },
};

static int get(int argc, char **argv)
{
	return cli_show(&get_shown, argc, argv);
}

static const struct cli_cmd verbs[] = {
	{ "show", show, "[dev IF[@HOST]]", "paths that the SA clients of the ports know" },
	{ "get", get, "ADDRESS [dev IF[@HOST]]",
	  "ask the SA for the path to a GID or an IP address, which is resolved if need be" },
	{ NULL },
};

int cli_path(int argc, char **argv)
{
	return cli_dispatch("path", verbs, argc, argv);
}
