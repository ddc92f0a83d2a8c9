/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Commands about an instance as a whole: `instance`, `host`, `wait`, `reload`, `stop`. */

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
 * Shows the instance that -n names, or all instances. An instance that ends in the meantime is
 * omitted.
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

const struct option cli_timeout_options[] = {
	{ "timeout", required_argument, NULL, 't' },
	{ NULL },
};

/*
 * Parse the optional arguments "--timeout S" into *@ms; without them, *@ms does not change. Return:
 * 0, or the exit status after a message
 */
static int timeout_arg(long long *ms, int argc, char **argv)
{
	int at = 1;
	const char *value = argc > 1 ? cli_value("--timeout", argv, &at) : NULL;

	if (argc == 1 || (value && at + 1 == argc && !cli_seconds(ms, value)))
		return 0;
	return cli_error(PROTO_EXIT_USAGE, "%s: expected [--timeout SECONDS]", argv[0]);
}

int cli_wait(int argc, char **argv)
{
	long long ms = -1;
	json_t *args;
	int status;

	if (cli_opts.help) {
		puts("uipoib wait [--timeout S]\n        until all interfaces are up; exit status "
		     "4 if they are not in time");
		return PROTO_EXIT_OK;
	}
	status = timeout_arg(&ms, argc, argv);
	if (status)
		return status;
	args = json_object();
	if (ms >= 0)
		json_object_set_new(args, "timeout_ms", json_integer(ms));
	return cli_call("wait", args, NULL, NULL);
}

static void print_changes(void *ctx, json_t *row)
{
	(void)ctx;
	if (cli_opts.json)
		cli_print_json(json_pack("{s:i, s:O}", "schema", PROTO_SCHEMA, "changes",
					 json_object_get(row, "changes")));
	else
		cli_print(stdout, "%s\n", json_string_value(json_object_get(row, "changes")));
}

int cli_reload(int argc, char **argv)
{
	if (cli_opts.help) {
		puts("uipoib reload\n        have an instance read its configuration again, and "
		     "say what "
		     "has changed; uipoib(8) says what can change");
		return PROTO_EXIT_OK;
	}
	if (argc > 1)
		return cli_error(PROTO_EXIT_USAGE, "'%s': unexpected", argv[1]);
	return cli_call("reload", json_object(), print_changes, NULL);
}

/*
 * Wait until the supervisor, the last of the instance's processes, has ended. If the instance has
 * sent no pidfd of the supervisor, wait until the instance closes the connection. Return: the exit
 * status
 */
static int until_ended(struct proto_client *c)
{
	struct pollfd p = { .fd = c->fds[0] < 0 ? c->fd : c->fds[0], .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, c->timeout_ms);
	while (n < 0 && errno == EINTR);
	return n ? PROTO_EXIT_OK : PROTO_EXIT_TIMEOUT;
}

int cli_stop(int argc, char **argv)
{
	long long ms = 10000;
	struct proto_client c;
	char err[256] = "";
	int status;

	if (cli_opts.help) {
		puts("uipoib stop [--timeout S]\n        end the instance, as Ctrl-C of its `run` "
		     "would; exit "
		     "status 4 if it has not ended in time (10 s)");
		return PROTO_EXIT_OK;
	}
	status = timeout_arg(&ms, argc, argv);
	if (!status)
		status = cli_connect(&c);
	if (status)
		return status;
	c.timeout_ms = (int)ms;
	status = proto_call(&c, "stop", NULL, NULL, NULL, err, sizeof(err), NULL);
	if (!status)
		status = until_ended(&c);
	if (status == PROTO_EXIT_TIMEOUT)
		snprintf(err, sizeof(err), "the instance has not ended after %g s",
			 (double)ms / 1000);
	proto_close(&c);
	return status ? cli_error(status, "%s", err) : PROTO_EXIT_OK;
}
