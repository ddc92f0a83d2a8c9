/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/host.h"

static int usage(int status)
{
	FILE *f = status ? stderr : stdout;

	fputs("uipoib exec HOST|NODE [CMD [ARG ...]]\n"
	      "        run a command (default: $SHELL) in a host's namespaces, or at a CA or "
	      "switch of a fabric;\n"
	      "        InfiniBand management programs see its ports as HCAs of the kernel\n",
	      f);
	return status;
}

int cli_exec(int argc, char **argv)
{
	static char sh[] = "/bin/sh";
	char *shell[] = { getenv("SHELL"), NULL };
	char **cmd = argv + 2;
	int status;

	if (cli_opts.help || (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))))
		return usage(PROTO_EXIT_OK);
	if (argc < 2)
		return usage(PROTO_EXIT_USAGE);
	if (argc > 2 && !strcmp(cmd[0], "--"))
		cmd++;
	if (!shell[0] || !*shell[0])
		shell[0] = sh;
	if (!cmd[0])
		cmd = shell;
	status = host_enter_tools(argv[1]);
	return status ? status : host_exec(cmd);
}
