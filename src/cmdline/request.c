/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmdline/cmdline.h"
#include "util/text.h"

#define NAMES_MAX 64

static int the_only_one(char ret[PROTO_NAME_MAX])
{
	char name[NAMES_MAX][PROTO_NAME_MAX], list[512] = "";
	struct text t = TEXT_IN(list);
	int n = proto_instances(name, NAMES_MAX);

	if (n < 0)
		return cli_error(PROTO_EXIT_ENV, "control sockets: %s", strerror(-n));
	if (n == 0)
		return cli_error(PROTO_EXIT_USAGE, "no instance is running");
	if (n == 1) {
		memcpy(ret, name[0], PROTO_NAME_MAX);
		return 0;
	}
	for (int i = 0; i < n && i < NAMES_MAX; i++)
		text_add_item(&t, ", ", name[i]);
	return cli_error(PROTO_EXIT_USAGE,
			 "several instances are running, expected -n with one of %s", list);
}

int cli_instance(char ret[PROTO_NAME_MAX])
{
	const char *name = cli_opts.instance;

	if (!name)
		name = getenv("UIPOIB_NAME");
	if (!name || !*name)
		return the_only_one(ret);
	if (!proto_name_ok(name))
		return cli_error(
			PROTO_EXIT_USAGE,
			"instance '%s': not a name, expected at most %d of a-z A-Z 0-9 . _ -", name,
			PROTO_NAME_MAX - 1);
	snprintf(ret, PROTO_NAME_MAX, "%s", name);
	return 0;
}

int cli_connect(struct proto_client *c)
{
	char name[PROTO_NAME_MAX];
	int status = cli_instance(name);

	if (status)
		return status;
	status = proto_connect(c, name);
	if (status == -ENOENT || status == -ECONNREFUSED)
		return cli_error(PROTO_EXIT_USAGE, "no instance '%s' is running", name);
	if (status)
		return cli_error(PROTO_EXIT_ENV, "instance '%s': %s", name, strerror(-status));
	return 0;
}

int cli_call_fd(const char *cmd, json_t *args, int fd, void (*row)(void *ctx, json_t *row),
		void *ctx)
{
	struct proto_client c;
	char err[1024] = "";
	int status = cli_connect(&c);

	if (status) {
		json_decref(args);
		return status;
	}
	status = proto_call_fd(&c, cmd, args, fd, row, ctx, err, sizeof(err), NULL);
	json_decref(args);
	proto_close(&c);
	return status ? cli_error(status, "%s", err) : 0;
}

int cli_call(const char *cmd, json_t *args, void (*row)(void *ctx, json_t *row), void *ctx)
{
	return cli_call_fd(cmd, args, -1, row, ctx);
}
