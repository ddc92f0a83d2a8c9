/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Commands about an instance as a whole: `instance`, `host`, `wait`, `stop`. */

#define NAMES_MAX 64

static const struct cli_key no_keys[] = { { NULL } };

static const struct cli_col instance_cols[] = {
	{ "NAME", "name" },
	{ "PID", "pid", true },
	{ "UP", "up" },
	{ "FABRICS", "fabrics" },
	{ "INTERFACES", "interfaces", true },
	{ "HOSTS", "hosts" },
	{ NULL },
};

static const struct cli_show instance_shown = {
	.object = "instance",
	.cmd = "instance show",
	.keys = no_keys,
	.cols = instance_cols,
	.title = (const char *const[]){ "name", NULL },
	.none = "no instance is running",
};

static void add_row(void *ctx, json_t *row)
{
	json_array_append(ctx, row);
}

/*
 * Shows the instance that -n names, or all instances. An instance that ends meanwhile is left out.
 */
static int show(int argc, char **argv)
{
	char name[NAMES_MAX][PROTO_NAME_MAX], err[256];
	json_t *rows;
	int n;

	if (cli_opts.instance)
		return cli_show(&instance_shown, argc, argv);
	if (argc > 1)
		return cli_error(PROTO_EXIT_USAGE, "'%s': unexpected", argv[1]);
	n = proto_instances(name, NAMES_MAX);
	if (n < 0)
		return cli_error(PROTO_EXIT_ENV, "control sockets: %s", strerror(-n));
	rows = json_array();
	for (int i = 0; i < n && i < NAMES_MAX; i++) {
		struct proto_client c;

		if (proto_connect(&c, name[i]))
			continue;
		proto_call(&c, "instance show", NULL, add_row, rows, err, sizeof(err), NULL);
		proto_close(&c);
	}
	cli_print_rows(&instance_shown, rows);
	json_decref(rows);
	return PROTO_EXIT_OK;
}

const struct cli_cmd cli_instance_verbs[] = {
	{ "show", show, "", "instances that run" },
	{ NULL },
};

static const struct cli_col host_cols[] = {
	{ "HOST", "host" },
	{ "NETNS", "netns" },
	{ "ANONYMOUS", "anonymous" },
	{ NULL },
};

static const struct cli_show host_shown = {
	.object = "host",
	.cmd = "host show",
	.keys = no_keys,
	.cols = host_cols,
	.title = (const char *const[]){ "host", NULL },
};

static int host_show(int argc, char **argv)
{
	return cli_show(&host_shown, argc, argv);
}

const struct cli_cmd cli_host_verbs[] = {
	{ "show", host_show, "", "hosts: their namespaces and interfaces" },
	{ NULL },
};

const struct option cli_wait_options[] = {
	{ "timeout", required_argument, NULL, 't' },
	{ NULL },
};

int cli_wait(int argc, char **argv)
{
	json_t *args = json_object();
	long long ms;

	if (cli_opts.help) {
		puts("uipoib wait [--timeout S]\n        until all interfaces are up; exit status "
		     "4 if they are not in time");
		json_decref(args);
		return PROTO_EXIT_OK;
	}
	if (argc == 3 && !strcmp(argv[1], "--timeout") && !cli_seconds(&ms, argv[2])) {
		json_object_set_new(args, "timeout_ms", json_integer(ms));
	} else if (argc != 1) {
		json_decref(args);
		return cli_error(PROTO_EXIT_USAGE, "wait: expected [--timeout SECONDS]");
	}
	return cli_call("wait", args, NULL, NULL);
}

/* Wait up to 10 s for the instance to end, which closes the connection. */
int cli_stop(int argc, char **argv)
{
	struct proto_client c;
	char err[256] = "";
	json_t *more;
	int status;

	if (cli_opts.help) {
		puts("uipoib stop\n        end the instance, as Ctrl-C of its `run` would");
		return PROTO_EXIT_OK;
	}
	if (argc > 1)
		return cli_error(PROTO_EXIT_USAGE, "stop: '%s': unexpected", argv[1]);
	status = cli_connect(&c);
	if (status)
		return status;
	status = proto_call(&c, "stop", NULL, NULL, NULL, err, sizeof(err), NULL);
	if (!status && !proto_recv(&c, 10000, &more))
		json_decref(more);
	proto_close(&c);
	return status ? cli_error(status, "%s", err) : PROTO_EXIT_OK;
}
