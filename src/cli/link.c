/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

static const struct cli_key keys[] = { { "dev", .bare = true }, { NULL } };

static const struct cli_col cols[] = {
	{ "DEV", "@dev" },  { "STATE", "state" },   { "PORT", "port" },
	{ "PKEY", "pkey" }, { "MTU", "mtu", true }, { "LID", "lid", true },
	{ "QPN", "qpn" },   { "GID", "gid" },	    { "REASON", "reason" },
	{ NULL },
};

static const struct cli_show shown = {
	.object = "link",
	.cmd = "link show",
	.keys = keys,
	.cols = cols,
	.title = (const char *const[]){ "@dev", NULL },
};

static int show(int argc, char **argv)
{
	return cli_show(&shown, argc, argv);
}

const struct cli_cmd cli_link_verbs[] = {
	{ "show", show, "[dev IF[@HOST]]", "interfaces: state, P_Key, addresses, broadcast group" },
	{ NULL },
};
