/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

static const struct cli_key keys[] = { { "dev", .bare = true }, { NULL } };

static const struct cli_col cols[] = {
	{ "DEV", "@dev" },    { "IP", "ip" },	      { "GID", "gid" },
	{ "QPN", "qpn" },     { "LID", "lid", true }, { "TOKEN", "token" },
	{ "STATE", "state" }, { "STATUS", "status" }, { NULL },
};

static const struct cli_show shown = {
	.object = "neigh",
	.cmd = "neigh show",
	.keys = keys,
	.cols = cols,
	.title = (const char *const[]){ "@dev", "lladdr", NULL },
};

static int show(int argc, char **argv)
{
	return cli_show(&shown, argc, argv);
}

const struct cli_cmd cli_neigh_verbs[] = {
	{ "show", show, "[dev IF[@HOST]]",
	  "peers: link-layer address, the token MAC that stands for it, the path to it" },
	{ NULL },
};
