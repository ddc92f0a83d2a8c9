/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "netdev/netns.h"

static int enter(struct proto_client *c, const json_t *end, const char *host)
{
	int net = c->fds[0], user = json_is_true(json_object_get(end, "userns")) ? c->fds[1] : -1;
	char dir[108];
	int status;

	if (proto_dir(dir, sizeof(dir), 0))
		dir[0] = '\0';
	status = net < 0 ? -EPROTO : netns_enter(user, net);

	if (status)
		return cli_error(PROTO_EXIT_ENV, "host '%s': entering its namespaces: %s", host,
				 strerror(-status));
	setenv("UIPOIB_HOST", host, 1);
	/* In there we may be another user, root of a user namespace: the sockets stay where they are. */
	if (*dir)
		setenv("UIPOIB_RUNTIME_DIR", dir, 1);
	return 0;
}

int host_enter(const char *host)
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
		status = enter(&c, end, host);
	json_decref(end);
	proto_close(&c);
	if (!status)
		setenv("UIPOIB_NAME", name, 1);
	return status;
}

int host_exec(char **cmd)
{
	execvp(cmd[0], cmd);
	return cli_error(errno == ENOENT ? 127 : 126, "%s: %s", cmd[0], strerror(errno));
}
