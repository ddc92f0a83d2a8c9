/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/beside.h"
#include "cli/cli.h"
#include "netdev/netns.h"

#define LIBRARY "libuipoib-umad.so"

/* Programs that know nothing of us open /dev/infiniband/umad0. */
static void preload(const char *umad)
{
	const char *old = getenv("LD_PRELOAD");
	char lib[PATH_MAX], *all;

	if (!umad)
		return;
	if (!beside_find(LIBRARY, lib)) {
		cli_error(0, "warning: " LIBRARY
			     " is missing beside the program and in ../lib/uipoib: "
			     "management tools will not see the fabric");
		return;
	}
	setenv("UIPOIB_UMAD", umad, 1);
	if (!old || !*old) {
		setenv("LD_PRELOAD", lib, 1);
	} else if (!strstr(old, lib) && asprintf(&all, "%s:%s", old, lib) > 0) {
		setenv("LD_PRELOAD", all, 1);
		free(all);
	}
}

/* For those who preload libumad2sim.so themselves. */
static void simulate(const json_t *end)
{
	const char *name = json_string_value(json_object_get(end, "ibsim"));
	const char *node = json_string_value(json_object_get(end, "sim_host"));

	if (!name || !node)
		return;
	setenv("IBSIM_SOCKNAME", name, 1);
	setenv("SIM_HOST", node, 1);
}

static int enter(struct proto_client *c, const json_t *end, const char *host)
{
	int net = c->fds[0], user = json_is_true(json_object_get(end, "userns")) ? c->fds[1] : -1;
	int status = net < 0 ? -EPROTO : netns_enter(user, net);

	if (status)
		return cli_error(PROTO_EXIT_ENV, "host '%s': entering its namespaces: %s", host,
				 strerror(-status));
	setenv("UIPOIB_HOST", host, 1);
	return 0;
}

/* A node has no namespaces. */
static int go(struct proto_client *c, const json_t *end, const char *host, bool tools)
{
	const char *node = json_string_value(json_object_get(end, "node"));
	char dir[108];
	int status = 0;

	if (node && !tools)
		return cli_error(PROTO_EXIT_USAGE, "host '%s': it is a node, not a host", host);
	/* In there we may be another user, root of a user namespace: the sockets stay where they are. */
	if (proto_dir(dir, sizeof(dir), 0))
		dir[0] = '\0';
	if (tools) {
		preload(json_string_value(json_object_get(end, "umad")));
		simulate(end);
	}
	unsetenv("UIPOIB_HOST");
	unsetenv("UIPOIB_NODE");
	if (node)
		setenv("UIPOIB_NODE", node, 1);
	else
		status = enter(c, end, host);
	if (!status && *dir)
		setenv("UIPOIB_RUNTIME_DIR", dir, 1);
	return status;
}

static int enter_as(const char *host, bool tools)
{
	char name[PROTO_NAME_MAX], err[1024] = "";
	struct proto_client c;
	json_t *args, *end = NULL;
	int status = cli_instance(name);

	if (status)
		return status;
	cli_opts.instance = name; /* for cli_connect(): the same one in any case */
	status = cli_connect(&c);
	cli_opts.instance = NULL;
	if (status)
		return status;
	args = json_pack("{s:s}", "host", host);
	status = proto_call(&c, "exec", args, NULL, NULL, err, sizeof(err), &end);
	json_decref(args);
	if (status)
		cli_error(status, "%s", err);
	else
		status = go(&c, end, host, tools);
	json_decref(end);
	proto_close(&c);
	if (!status)
		setenv("UIPOIB_NAME", name, 1);
	return status;
}

int host_enter(const char *host)
{
	return enter_as(host, false);
}

int host_enter_tools(const char *host_or_node)
{
	return enter_as(host_or_node, true);
}

int host_exec(char **cmd)
{
	execvp(cmd[0], cmd);
	return cli_error(errno == ENOENT ? 127 : 126, "%s: %s", cmd[0], strerror(errno));
}
