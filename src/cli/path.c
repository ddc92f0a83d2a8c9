/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include <uipoib/path.h>

#include "cli/cli.h"
#include "path/query.h"

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

static void print(const struct path_reply *reply)
{
	json_t *rows = json_pack("[O]", reply->row);

	cli_print_rows(&get_shown, rows);
	json_decref(rows);
}

/* Reports why ipoib_path_open() failed, in the same words as cli_connect() and the instance */
static int not_open(const char *name, const char *dev, int err)
{
	if (err == ENOENT)
		return cli_error(PROTO_EXIT_USAGE, "no instance '%s' is running", name);
	if (err == ENODEV && dev)
		return cli_error(PROTO_EXIT_USAGE,
				 "dev '%s': no such interface, or several: expected NAME@HOST",
				 dev);
	return cli_error(PROTO_EXIT_ENV, "instance '%s': %s", name, strerror(err));
}

/*
 * Ask for the path that @args describe; takes ownership of @args. ipoib_path_open() gets the
 * argument "dev", and path_query() sends it with the other arguments.
 */
static int ask(const char *name, json_t *args)
{
	json_t *dev = json_incref(json_object_get(args, "dev"));
	struct ipoib_path *path = ipoib_path_open(name, json_string_value(dev));
	struct path_reply reply = { 0 };
	int status;

	if (path) {
		status = path_query(path, args, &reply);
		if (status)
			status = cli_error(PROTO_EXIT_FAILED, "the instance: %s",
					   status == -EPIPE ? "ended the connection"
							    : strerror(-status));
		else if (reply.status)
			status = cli_error(reply.status, "%s", reply.error);
		else
			print(&reply);
	} else {
		status = not_open(name, json_string_value(dev), errno);
		json_decref(args);
	}
	ipoib_path_close(path);
	path_reply_fini(&reply);
	json_decref(dev);
	return status;
}

int cli_path_get(int argc, char **argv)
{
	char name[PROTO_NAME_MAX];
	json_t *args;
	int status = cli_args(&args, get_keys, argc, argv);

	if (status)
		return status;
	status = cli_instance(name);
	if (!status)
		return ask(name, args);
	json_decref(args);
	return status;
}

const struct cli_cmd cli_path_verbs[] = {
	{ "show", show, "[dev IF[@HOST]]", "paths that the SA clients of the ports know" },
	{ "get", cli_path_get, "ADDRESS [dev IF[@HOST]]",
	  "ask the SA for the path to a GID or an IP address, which is resolved if need be" },
	{ NULL },
};
