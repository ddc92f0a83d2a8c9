/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/beside.h"
#include "cli/cli.h"
#include "netdev/netns.h"

#define LIBRARY "libuipoib-umad.so"

/*
 * Tell whether a path can stand in LD_PRELOAD. Paths with blanks, colons or '$' are refused,
 * because LD_PRELOAD is split at blanks and colons, and ld.so expands words that begin with '$'.
 */
static bool can_stand_in_preload(const char *path)
{
	return !strpbrk(path, " :$");
}

/*
 * In the folder of the instance's sockets, make a symbolic link to the library @lib. The instance
 * removes the link when the instance ends.
 */
static int link_to(const char *lib, const char *instance, char ret[PATH_MAX])
{
	char old[PATH_MAX];
	int status = proto_lib_path(ret, PATH_MAX, instance);
	ssize_t n;

	if (!status && !can_stand_in_preload(ret))
		status = -EINVAL;
	if (status)
		return status;
	n = readlink(ret, old, sizeof(old));
	if (n >= 0 && (size_t)n == strlen(lib) && !memcmp(old, lib, (size_t)n))
		return 0;
	if (n >= 0)
		unlink(ret); /* an old link leads to the library of another build of the program */
	return symlink(lib, ret) && errno != EEXIST ? -errno : 0;
}

static int set_preload(const char *lib)
{
	const char *old = getenv("LD_PRELOAD");
	char *all;

	if (!old || !*old)
		return setenv("LD_PRELOAD", lib, 1);
	if (strstr(old, lib))
		return 0;
	if (asprintf(&all, "%s:%s", old, lib) < 0)
		return -1;
	setenv("LD_PRELOAD", all, 1);
	free(all);
	return 0;
}

/*
 * Puts libuipoib-umad.so into LD_PRELOAD, so that programs that open /dev/infiniband/umad0 get the devices of the
 * instance. Return: 0, or the exit status, after an error message.
 */
static int preload(const char *umad, const char *instance)
{
	char lib[PATH_MAX], other[PATH_MAX];
	int status;

	if (!umad)
		return 0;
	if (!beside_find(LIBRARY, lib)) {
		cli_error(0, "warning: " LIBRARY
			     " is missing beside the program and in ../lib/uipoib: "
			     "management tools will not see the fabric");
		return 0;
	}
	if (!can_stand_in_preload(lib)) {
		status = link_to(lib, instance, other);
		if (status)
			return cli_error(
				PROTO_EXIT_ENV,
				"%s: LD_PRELOAD takes no path with a blank, ':' or '$', and "
				"a link to it cannot be made in the folder of the sockets: %s",
				lib, strerror(-status));
		memcpy(lib, other, sizeof(lib));
	}
	setenv("UIPOIB_UMAD", umad, 1);
	return set_preload(lib) ? cli_error(PROTO_EXIT_FAILED, "out of memory") : 0;
}

/*
 * Set the environment variables that Debian's libumad2sim.so reads, for users who preload that
 * library instead of libuipoib-umad.so.
 */
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

/*
 * Enter the host. A node of a fabric has no namespaces, so for a node only the environment is set.
 */
static int go(struct proto_client *c, const json_t *end, const char *host, const char *instance,
	      bool tools)
{
	const char *node = json_string_value(json_object_get(end, "node"));
	char dir[108];
	int status = 0;

	if (node && !tools)
		return cli_error(PROTO_EXIT_USAGE, "host '%s': it is a node, not a host", host);
	/*
	 * In the host this process may have another user ID (root of a user namespace). This would
	 * change the default folder of the sockets, so keep the folder in the environment.
	 */
	if (proto_dir(dir, sizeof(dir), 0))
		dir[0] = '\0';
	if (tools) {
		status = preload(json_string_value(json_object_get(end, "umad")), instance);
		if (status)
			return status;
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
	/* Make cli_connect() connect to the instance @name. */
	cli_opts.instance = name;
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
		status = go(&c, end, host, name, tools);
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
